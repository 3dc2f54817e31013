//! Small tensors of a plan that are on a device: gathered there, and brought to the host together.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use ::tch::{Kind, Tensor};

use super::export::{Borrowed, unreadable};
use super::{signed, transfer};
use crate::backend::{HostBytes, with_plan_state};
use crate::{Device, Error, Result};

/// A tensor of more bytes is worth a transfer of its own.
const MOST: usize = 64 * 1024;

/// Up to this size tensors are mostly inline: they are read while the plan is made, and others when it is written.
const TINY: usize = 512;

/// How many bytes come down together.
const BATCH: usize = 4 << 20;

/// The device tensors of a value that is being planned.
#[derive(Default)]
struct Gathering {
    /// The batches that take more, by device and whether their tensors are tiny.
    open: HashMap<(Device, bool), Rc<Batch>>,
    /// By the address of the tensor.
    known: HashMap<usize, (Rc<Batch>, usize)>,
    arrived: Rc<Arrived>,
}

/// The batch that came down last: a plan holds no more of its tensors than that.
#[derive(Default)]
struct Arrived(RefCell<Option<(Rc<Batch>, Rc<Tensor>)>>);

/// Tensors that come down together.
#[derive(Default)]
struct Batch {
    members: RefCell<Vec<Member>>,
    len: Cell<usize>,
}

struct Member {
    /// Its elements, in the order in which they travel.
    elements: Tensor,
    lazy: bool,
    start: usize,
    len: usize,
    /// It was read since the batch came down.
    taken: bool,
}

impl Drop for Gathering {
    fn drop(&mut self) {
        // What is read from now on is read when the plan is written, and is to be as it is then.
        self.arrived.0.take();
    }
}

/// The bytes of a device's tensor, brought down together with others; `None` where no plan is made, or it is large.
///
/// `elements` shows the same, in the order in which it travels, `len` bytes; `lazy` ones are yet to be conjugated or negated.
pub(super) fn join(
    tensor: &Tensor,
    elements: &Tensor,
    device: Device,
    len: usize,
    lazy: bool,
) -> Option<HostBytes<'static>> {
    if len > MOST {
        return None;
    }
    let join = |gathering: &mut Gathering, finding: bool| {
        let key = std::ptr::from_ref(tensor).addr();
        // Another tensor may come to lie at the address of one that is gone; what it shows is what counts.
        let known = gathering
            .known
            .get(&key)
            .filter(|(batch, at)| batch.shows(*at, elements, lazy));
        let (batch, at) = match known.cloned() {
            Some(known) => known,
            None if !finding => return None,
            None => {
                let joined = gathering.add(device, elements, len, lazy);
                gathering.known.insert(key, joined.clone());
                joined
            }
        };
        let arrived = Rc::clone(&gathering.arrived);
        Some(HostBytes::copied(move |sink| arrived.read(&batch, at, sink)))
    };
    with_plan_state(join).flatten()
}

impl Gathering {
    fn add(&mut self, device: Device, elements: &Tensor, len: usize, lazy: bool) -> (Rc<Batch>, usize) {
        let open = self.open.entry((device, len <= TINY)).or_default();
        if open.len.get() + len > BATCH {
            *open = Rc::default();
        }
        let at = open.push(Member {
            elements: elements.shallow_clone(),
            lazy,
            start: open.len.get(),
            len,
            taken: false,
        });
        (Rc::clone(open), at)
    }
}

impl Batch {
    fn push(&self, member: Member) -> usize {
        self.len.set(self.len.get() + member.len);
        let mut members = self.members.borrow_mut();
        members.push(member);
        members.len() - 1
    }

    /// Whether a member shows the same bytes: the same elements of the same storage.
    fn shows(&self, at: usize, elements: &Tensor, lazy: bool) -> bool {
        self.members.borrow().get(at).is_some_and(|member| {
            let kinds = (member.elements.f_kind().ok(), elements.f_kind().ok());
            member.lazy == lazy && !lazy && kinds.0 == kinds.1 && member.elements.f_is_set_to(elements).unwrap_or(false)
        })
    }

    /// Marks a member as read; says where it is, and whether it was read already.
    fn take(&self, at: usize) -> Option<(usize, usize, bool)> {
        let mut members = self.members.borrow_mut();
        let member = members.get_mut(at)?;
        Some((member.start, member.len, std::mem::replace(&mut member.taken, true)))
    }

    /// Gathers all members on their device, and copies them to the host.
    fn fetch(&self) -> Result<Tensor> {
        let mut members = self.members.borrow_mut();
        let parts = members.iter().map(Member::bytes).collect::<Result<Vec<_>>>()?;
        let gathered = Tensor::f_cat(&parts, 0).map_err(unreadable)?;
        if gathered.numel() != self.len.get() {
            return Err(Error::backend("a tensor changed its length while it was being sent"));
        }
        members.iter_mut().for_each(|member| member.taken = false);
        transfer::fetch(&gathered)
    }
}

impl Member {
    fn bytes(&self) -> Result<Tensor> {
        let resolved = match self.lazy {
            true => self.elements.f_resolve_conj().and_then(|view| view.f_resolve_neg()),
            false => Ok(self.elements.shallow_clone()),
        };
        let flat = resolved.and_then(|view| view.f_contiguous()?.f_view([-1])?.f_view_dtype(Kind::Uint8));
        flat.map_err(unreadable)
    }
}

impl Arrived {
    fn read(&self, batch: &Rc<Batch>, at: usize, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let there = self
            .0
            .borrow()
            .as_ref()
            .filter(|(there, _)| Rc::ptr_eq(there, batch))
            .map(|(_, host)| Rc::clone(host));
        let (start, len, taken) = batch.take(at).ok_or_else(|| Error::backend("a batch lost a tensor"))?;
        // A batch that took more since it came down comes again.
        let there = there.filter(|host| !taken && start + len <= host.numel());
        let host = match there {
            Some(host) => host,
            None => {
                let host = Rc::new(batch.fetch()?);
                batch.take(at);
                self.0.replace(Some((Rc::clone(batch), Rc::clone(&host))));
                host
            }
        };
        let part = host.f_narrow(0, signed(start)?, signed(len)?).map_err(unreadable)?;
        let mut buffer = Borrowed::take(len);
        part.f_copy_data_u8(&mut buffer.0[..len], len).map_err(unreadable)?;
        sink(&buffer.0[..len])
    }
}
