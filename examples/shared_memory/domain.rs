//! What processes share that name the same domain, apart from all others on the machine.

use std::fs;
use std::io::{ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};

use iceoryx2::prelude::{self, Config, FileName, SemanticString as _};

use crate::Result;

/// Where Linux shows the names of shared memory.
const SHARED: &str = "/dev/shm";

/// A folder for iceoryx2's files, and the prefix of its shared memory. The last process that leaves removes what iceoryx2 keeps for nodes to come.
pub(crate) struct Domain {
    name: String,
    folder: PathBuf,
}

impl Domain {
    /// The domain of this name, which is a file name.
    pub(crate) fn enter(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            folder: std::env::temp_dir().join(name),
        }
    }

    /// For a node in it.
    pub(crate) fn config(&self) -> Result<Config> {
        let mut config = Config::global_config().clone();
        let folder = self
            .folder
            .to_str()
            .ok_or("a temporary folder with a name in Unicode")?;
        config.global.set_root_path(&prelude::Path::new(folder.as_bytes())?);
        config.global.prefix = FileName::new(format!("{}-", self.name).as_bytes())?;
        Ok(config)
    }

    /// Removes what is left, unless another process is there: then a folder is not empty.
    fn leave(&self) -> IoResult<()> {
        for folder in ["nodes", "services", ""] {
            gone(fs::remove_dir(self.folder.join(folder)))?;
        }
        for entry in fs::read_dir(SHARED)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&format!("{}-", self.name)) && name.ends_with(".global_mgmt") {
                gone(fs::remove_file(Path::new(SHARED).join(name.as_ref())))?;
            }
        }
        Ok(())
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // What cannot be removed is the next one's.
        let _ = self.leave();
    }
}

/// Another process may have removed it meanwhile.
fn gone(removed: IoResult<()>) -> IoResult<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
