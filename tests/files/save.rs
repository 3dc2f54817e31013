//! Saving: the old file or the new one, whatever happens.
//!
//! Without these a crash while saving could cost the only checkpoint there is.

use std::cell::Cell;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_tensor::backend::{Description, HostBytes, Import, Imported, TensorBackend};
use serde_tensor::{Category, DType, Encoder, Tensor, inspect, save};

use crate::{Folder, ramp, read};

#[test]
fn what_was_saved_is_read_back_with_checksums() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    let value = (7u8, ramp(5000), vec![ramp(3), ramp(700)]);
    save(&path, &value).unwrap();
    assert_eq!(read::<(u8, Tensor, Vec<Tensor>)>(&path).unwrap(), value);
    assert_eq!(folder.names(), ["value.st"]);

    let mut bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[5] & 1, 1, "checksums are on");
    *bytes.last_mut().unwrap() ^= 1;
    assert!(serde_tensor::from_slice::<(u8, Tensor, Vec<Tensor>)>(&bytes).is_err());

    Encoder::new().checksums(false).save(&path, &value).unwrap();
    assert_eq!(fs::read(&path).unwrap()[5] & 1, 0, "unless they are switched off");
    assert_eq!(read::<(u8, Tensor, Vec<Tensor>)>(&path).unwrap(), value);

    // A plain message has no place for checksums, so a small value is framed.
    save(&path, &7u8).unwrap();
    assert_eq!(inspect(&fs::read(&path).unwrap()).unwrap().segments(), Some(0));
    assert_eq!(read::<u8>(&path).unwrap(), 7);
    Encoder::new().checksums(false).save(&path, &7u8).unwrap();
    assert_eq!(fs::read(&path).unwrap(), [7]);
}

/// A tensor whose bytes come slowly: half of them, then what the test wants.
struct Slow(fn() -> serde_tensor::Result<()>);

const SLOW: usize = 1 << 20;

impl TensorBackend for Slow {
    const HOST_ONLY: bool = true;

    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Ok(Description::new(DType::U8, &[SLOW]))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| {
            sink(&vec![1; SLOW / 2])?;
            (self.0)()?;
            sink(&vec![2; SLOW / 2])
        }))
    }

    fn import(_: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        Err(serde_tensor::Error::backend("is not read"))
    }
}

serde_tensor::impl_tensor!(Slow);

#[test]
fn an_error_in_the_middle_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    let fails = Slow(|| Err(serde_tensor::Error::backend("the device is lost")));
    for checksums in [true, false] {
        let encoder = Encoder::new().checksums(checksums);
        let error = encoder.save(&path, &(ramp(5000), &fails)).unwrap_err();
        assert_eq!((error.category(), error.path()), (Category::Backend, Some("[1]")));
        assert!(folder.names().is_empty());
    }
    save(&path, &ramp(5000)).unwrap();
    for checksums in [true, false] {
        Encoder::new().checksums(checksums).save(&path, &fails).unwrap_err();
        assert_eq!(read::<Tensor>(&path).unwrap(), ramp(5000));
        assert_eq!(folder.names(), ["value.st"]);
    }
}

#[test]
fn a_panic_in_the_middle_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &ramp(5000)).unwrap();
    let panics = Slow(|| panic!("as a test asks"));
    let saved = std::panic::catch_unwind(|| Encoder::new().checksums(false).save(&path, &panics));
    assert!(saved.is_err());
    assert_eq!(read::<Tensor>(&path).unwrap(), ramp(5000));
    assert_eq!(folder.names(), ["value.st"]);
}

/// Set in the process that is to be killed: the file it saves to.
const KILLED: &str = "SERDE_TENSOR_TEST_SAVE_TO";

#[test]
fn a_process_that_is_killed_in_the_middle_leaves_the_old_file() {
    if let Some(path) = env::var_os(KILLED) {
        let waits = Slow(|| {
            println!("\nhalf");
            std::thread::sleep(Duration::from_mins(1));
            Ok(())
        });
        Encoder::new().checksums(false).save(path, &waits).unwrap();
        return;
    }
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &ramp(5000)).unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "save::a_process_that_is_killed_in_the_middle_leaves_the_old_file",
            "--nocapture",
        ])
        .env(KILLED, &path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap() == "half"),
        "the child did not begin to write"
    );
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(read::<Tensor>(&path).unwrap(), ramp(5000));
    let names = folder.names();
    assert_eq!(names.len(), 2, "{names:?}");
    let left = names[0]
        .strip_prefix(".value.st.")
        .and_then(|name| name.strip_suffix(".tmp"));
    assert!(left.is_some(), "{names:?}");
    let begun = fs::metadata(folder.join(&names[0])).unwrap().len();
    assert!(begun >= SLOW as u64 / 2, "killed in the middle of writing: {begun}");
    save(&path, &ramp(600)).unwrap();
    assert_eq!(read::<Tensor>(&path).unwrap(), ramp(600));
}

#[test]
fn what_is_not_a_file_is_refused_and_named() {
    let folder = Folder::new();
    for path in [folder.to_owned(), folder.join("missing/value.st")] {
        let error = save(&path, &ramp(5000)).unwrap_err();
        assert_eq!(error.category(), Category::Io);
        assert!(error.to_string().contains(folder.to_str().unwrap()), "{error}");
    }
    assert!(save("", &1u8).is_err());
    assert!(folder.names().is_empty());
}

/// A tensor that somebody writes to all the time: other bytes at each look.
struct Busy(Cell<u8>);

impl TensorBackend for Busy {
    const HOST_ONLY: bool = true;

    fn describe(&self) -> serde_tensor::Result<Description<'_>> {
        Ok(Description::new(DType::U8, &[5000]))
    }

    fn host_bytes(&self) -> serde_tensor::Result<HostBytes<'_>> {
        Ok(HostBytes::copied(|sink| {
            self.0.set(self.0.get().wrapping_add(1));
            sink(&[self.0.get(); 5000])
        }))
    }

    fn import(_: Import<'_>) -> serde_tensor::Result<Imported<Self>> {
        Err(serde_tensor::Error::backend("is not read"))
    }
}

serde_tensor::impl_tensor!(Busy);

/// Its checksum is of other bytes than those in the file, which nobody could read.
#[test]
fn a_tensor_that_is_written_to_meanwhile_does_not_cost_the_old_file() {
    let folder = Folder::new();
    let path = folder.join("value.st");
    save(&path, &ramp(600)).unwrap();
    let value = (ramp(700), Busy(Cell::new(0)));
    let error = save(&path, &value).unwrap_err();
    assert_eq!(
        (error.category(), error.path()),
        (Category::Data, Some("[1]")),
        "{error}"
    );
    assert_eq!(read::<Tensor>(&path).unwrap(), ramp(600));
    assert_eq!(folder.names(), ["value.st"]);
    // Without checksums, or of a copy made before, there is nothing to be at odds.
    Encoder::new().checksums(false).save(&path, &value).unwrap();
    assert_eq!(read::<(Tensor, Tensor)>(&path).unwrap().0, value.0);
    Encoder::new().snapshot(true).save(&path, &value).unwrap();
    assert_eq!(read::<(Tensor, Tensor)>(&path).unwrap().0, value.0);
}

#[test]
fn a_name_may_be_as_long_as_the_system_lets_it() {
    let folder = Folder::new();
    let name = "n".repeat(255);
    let path = folder.join(&name);
    for len in [5000, 600] {
        save(&path, &ramp(len)).unwrap();
        assert_eq!(read::<Tensor>(&path).unwrap(), ramp(len));
        assert_eq!(folder.names(), [name.as_str()]);
    }
    assert!(save(folder.join("n".repeat(5000)), &ramp(600)).is_err());
    assert_eq!(folder.names(), [name.as_str()]);
}

#[test]
fn a_path_without_a_folder_is_in_the_present_one() {
    // In a process of its own, since all threads share the present folder.
    const HERE: &str = "SERDE_TENSOR_TEST_SAVE_HERE";
    if env::var_os(HERE).is_some() {
        save("value.st", &ramp(5000)).unwrap();
        return;
    }
    let folder = Folder::new();
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "save::a_path_without_a_folder_is_in_the_present_one"])
        .env(HERE, "1")
        .current_dir(&*folder)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(folder.names(), ["value.st"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn permissions_are_kept() {
        let folder = Folder::new();
        let path = folder.join("value.st");
        save(&path, &ramp(5000)).unwrap();
        // As a new file that is made here gets them.
        let plain = folder.join("plain");
        fs::write(&plain, "x").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
        for bits in [0o600, 0o664, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            save(&path, &ramp(bits as usize)).unwrap();
            assert_eq!(mode(&path) & 0o7777, bits);
            assert_eq!(read::<Tensor>(&path).unwrap(), ramp(bits as usize));
        }
    }

    #[test]
    fn the_file_behind_a_link_is_replaced_and_the_link_stays() {
        let (folder, elsewhere) = (Folder::new(), Folder::new());
        fs::create_dir(folder.join("inner")).unwrap();
        symlink("inner/second", folder.join("first")).unwrap();
        symlink(elsewhere.join("value.st"), folder.join("inner/second")).unwrap();
        for len in [5000, 600] {
            // The first time the link leads to nothing yet.
            save(folder.join("first"), &ramp(len)).unwrap();
            assert!(fs::symlink_metadata(folder.join("first")).unwrap().is_symlink());
            assert_eq!(elsewhere.names(), ["value.st"]);
            assert_eq!(read::<Tensor>(&elsewhere.join("value.st")).unwrap(), ramp(len));
        }
        symlink("round", folder.join("round")).unwrap();
        assert_eq!(save(folder.join("round"), &1u8).unwrap_err().category(), Category::Io);
        assert_eq!(folder.names(), ["first", "inner", "round"]);
    }

    #[test]
    fn who_has_the_old_file_open_keeps_it() {
        let folder = Folder::new();
        let path = folder.join("value.st");
        save(&path, &ramp(5000)).unwrap();
        fs::hard_link(&path, folder.join("other.st")).unwrap();
        let old = fs::File::open(&path).unwrap();
        save(&path, &ramp(600)).unwrap();
        assert_eq!(serde_tensor::from_reader::<_, Tensor>(old).unwrap(), ramp(5000));
        assert_eq!(read::<Tensor>(&folder.join("other.st")).unwrap(), ramp(5000));
        assert_ne!(
            fs::metadata(&path).unwrap().ino(),
            fs::metadata(folder.join("other.st")).unwrap().ino()
        );
    }

    #[test]
    fn what_the_disk_has_no_room_for_names_the_file_and_leaves_the_old_one() {
        // In a process of its own, which may write no file as long as that.
        const PATH: &str = "SERDE_TENSOR_TEST_SAVE_FULL";
        if let Some(path) = env::var_os(PATH) {
            let error = save(&path, &ramp(1 << 20)).unwrap_err();
            assert_eq!(error.category(), Category::Io);
            assert!(error.to_string().contains("value.st"), "{error}");
            return;
        }
        let folder = Folder::new();
        let path = folder.join("value.st");
        save(&path, &ramp(600)).unwrap();
        let status = Command::new("sh")
            .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh"])
            .arg(env::current_exe().unwrap())
            .args([
                "--exact",
                "save::unix::what_the_disk_has_no_room_for_names_the_file_and_leaves_the_old_one",
            ])
            .env(PATH, &path)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(read::<Tensor>(&path).unwrap(), ramp(600));
        assert_eq!(folder.names(), ["value.st"]);
    }

    #[test]
    fn devices_and_pipes_are_not_replaced() {
        assert_eq!(save("/dev/null", &1u8).unwrap_err().category(), Category::Io);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
