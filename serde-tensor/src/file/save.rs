//! A message written to a file, whole or not at all.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use super::stored::Stored;
use crate::TensorSerialize;
use crate::encoder::Encoder;
use crate::error::{Category, Error, Result};
use crate::plan::Plan;
use crate::wire::store::Store as _;

/// How many links lead to a file at most, as on Linux.
const MOST_LINKS: usize = 40;

/// Writes a value to a file: whole, or not at all, with checksums.
///
/// As [`Encoder::save`] with the default options.
///
/// ```
/// use serde_tensor::Tensor;
///
/// # let folder = std::env::temp_dir().join(format!("serde-tensor-save-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("weights.st");
/// let weights = Tensor::from_vec(vec![0.5f32; 1000], &[1000])?;
/// serde_tensor::save(&path, &weights)?;
/// let read: Tensor = serde_tensor::from_reader(std::fs::File::open(&path)?)?;
/// assert_eq!(read, weights);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), serde_tensor::Error>(())
/// ```
///
/// # Errors
///
/// As [`Encoder::save`].
pub fn save<P: AsRef<Path>, T: ?Sized + TensorSerialize>(path: P, value: &T) -> Result<()> {
    Encoder::new().save(path, value)
}

impl Encoder {
    /// Writes a value to a file: whole, or not at all. [Checksums](Self::checksums) are on unless they were switched off.
    ///
    /// The message goes to a new file in the same folder, named `.NAME.….tmp` (`.….tmp` if that is too long), from where the tensors are, without a second copy in memory. When the disk has
    /// it, the new file takes the place of the old one. So whoever opens `path`, at any time and after any crash, finds the old message or the
    /// new one, and who has the old file open or mapped keeps it. On an error the new file is removed; a process that is killed leaves
    /// it behind.
    ///
    /// The new file has the permissions of the old one, and is owned by who writes it. If `path` is a symbolic link, the
    /// file it leads to is replaced, and not the link. Other hard links keep the old message.
    ///
    /// # Errors
    ///
    /// `Io` when the file cannot be written or `path` is something else than a file; `Data` when somebody wrote to a tensor of libtorch's meanwhile, so
    /// that its checksum is another; and as [`plan`](Self::plan). If the folder cannot be
    /// brought to the disk, the new message is in place, and a crash of the machine may bring back the old one.
    pub fn save<P: AsRef<Path>, T: ?Sized + TensorSerialize>(&self, path: P, value: &T) -> Result<()> {
        let plan = self.plan_to_keep(value)?;
        let target = follow(path.as_ref())?;
        let old = match fs::metadata(&target) {
            Ok(old) if old.is_file() => Some(old.permissions()),
            Ok(_) => return Err(not_a_file(&target)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(named(&error, &target)),
        };
        let mut draft = Draft::create(&target, old.as_ref()).map_err(|error| named(&error, &target))?;
        write(&plan, &draft.file).map_err(|error| match error.category() {
            Category::Io => named(&error.into(), &target),
            _ => error,
        })?;
        draft.finish(old).map_err(|error| named(&error, &target))?;
        check(&plan, &draft)?;
        draft.replace(&target).map_err(|error| named(&error, &target))
    }
}

#[cfg(unix)]
fn write(plan: &Plan<'_>, file: &File) -> Result<()> {
    plan.write_to_fd(file)
}

#[cfg(not(unix))]
fn write(plan: &Plan<'_>, file: &File) -> Result<()> {
    plan.write_to(file)
}

/// A tensor that somebody wrote to meanwhile has another checksum than it had, and its file could not be read.
fn check(plan: &Plan<'_>, draft: &Draft) -> Result<()> {
    let stored = OnceCell::new();
    plan.check_read_twice(|index| {
        let stored = match stored.get() {
            Some(stored) => stored,
            None => {
                let opened = Stored::written(&draft.file, &draft.path)?;
                stored.get_or_init(|| opened)
            }
        };
        stored.check(index).map_err(|error| match error.category() {
            Category::Syntax => Error::data("a tensor was written to while it was being saved"),
            _ => error,
        })
    })
}

/// The file that symbolic links lead to, which need not be there.
fn follow(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(link) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = match path.parent() {
            Some(folder) => folder.join(link),
            None => link,
        };
    }
    Err(named(&io::Error::other("too many symbolic links"), &path))
}

/// A file that is to take the place of another, and that is removed if it does not.
struct Draft {
    file: File,
    path: PathBuf,
    placed: bool,
}

impl Draft {
    fn create(target: &Path, old: Option<&Permissions>) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut stem = OsString::from(".");
        stem.push(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        restrict(&mut options, old);
        loop {
            // Random keys are what the standard library has for the purpose.
            let random = RandomState::new().hash_one(std::process::id());
            let mut draft = stem.clone();
            draft.push(format!(".{random:016x}.tmp"));
            let path = target.with_file_name(draft);
            match options.open(&path) {
                Ok(file) => {
                    return Ok(Self {
                        file,
                        path,
                        placed: false,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // A name that the system just lets be has no room for more.
                Err(error) if error.kind() == io::ErrorKind::InvalidFilename && !stem.is_empty() => stem.clear(),
                Err(error) => return Err(error),
            }
        }
    }

    /// Brings it to the disk.
    fn finish(&self, old: Option<Permissions>) -> io::Result<()> {
        if let Some(old) = old {
            self.file.set_permissions(old)?;
        }
        self.file.sync_all()
    }

    /// Brings it into the place of `target`.
    fn replace(&mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.placed = true;
        sync_folder(target)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.placed {
            // The error that led here says more than one of this.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// While it is written nobody may read it who may not read the old one.
#[cfg(unix)]
fn restrict(options: &mut OpenOptions, old: Option<&Permissions>) {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

    if let Some(old) = old {
        options.mode(old.mode() & 0o777);
    }
}

#[cfg(not(unix))]
fn restrict(_: &mut OpenOptions, _: Option<&Permissions>) {}

/// Brings a file's name to the disk.
#[cfg(unix)]
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match File::open(folder.unwrap_or(Path::new(".")))?.sync_all() {
        // Some file systems have nothing to do for it, and say so.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

// Elsewhere a folder is no file.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

fn not_a_file(path: &Path) -> Error {
    named(&io::Error::new(io::ErrorKind::InvalidInput, "is not a file"), path)
}

/// The error with the file's name, which the system's own does not have.
pub(super) fn named(error: &io::Error, path: &Path) -> Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
}
