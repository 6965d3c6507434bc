use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use rstest::rstest;
use rustix::fs::CWD;

use super::*;

struct House {
    directory: tempfile::TempDir,
}

impl House {
    /// `media/a.y4m` inside the root `media`, `secret` beside it.
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("media/sub")).unwrap();
        fs::write(directory.path().join("media/a.y4m"), "inside").unwrap();
        fs::write(directory.path().join("secret"), "outside").unwrap();
        Self { directory }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.directory.path().join(below)
    }

    fn roots(&self) -> Roots {
        Roots::parse(&[self.path("media").to_str().unwrap().to_owned()]).unwrap()
    }

    fn open(&self, below: &str) -> Result<String, LocalError> {
        let file = LocalFile::open(&self.path(below), &self.roots())?;
        assert_eq!(fs::read_to_string(file.path()).unwrap().len() as u64, file.length());
        let mut text = String::new();
        file.file().read_to_string(&mut text).unwrap();
        Ok(text)
    }
}

#[test]
fn a_file_below_the_root_is_opened() {
    assert_eq!(House::new().open("media/a.y4m").unwrap(), "inside");
}

#[test]
fn links_inside_the_root_are_followed() {
    let house = House::new();
    symlink("../a.y4m", house.path("media/sub/relative")).unwrap();
    symlink(house.path("media/sub"), house.path("media/absolute")).unwrap();
    symlink("absolute/relative", house.path("media/twice")).unwrap();
    assert_eq!(house.open("media/twice").unwrap(), "inside");
    let found = LocalFile::open(&house.path("media/twice"), &house.roots()).unwrap();
    assert_eq!(found.path(), house.path("media/a.y4m").canonicalize().unwrap());
}

#[test]
fn a_root_may_be_a_link_itself() {
    let house = House::new();
    symlink("media", house.path("current")).unwrap();
    let roots = Roots::parse(&[house.path("current").to_str().unwrap().to_owned()]).unwrap();
    assert!(LocalFile::open(&house.path("current/a.y4m"), &roots).is_ok());
    assert!(LocalFile::open(&house.path("media/a.y4m"), &roots).is_ok(), "by its real name too");
}

#[test]
fn a_link_from_one_root_into_another_is_followed() {
    let house = House::new();
    fs::create_dir(house.path("other")).unwrap();
    symlink("../media/a.y4m", house.path("other/up")).unwrap();
    symlink(house.path("media/a.y4m"), house.path("other/across")).unwrap();
    let both = ["media", "other"].map(|name| house.path(name).to_str().unwrap().to_owned());
    let roots = Roots::parse(&both).unwrap();
    assert!(LocalFile::open(&house.path("other/across"), &roots).is_ok());
    // Upwards leaves the root before it can enter the other.
    assert!(matches!(LocalFile::open(&house.path("other/up"), &roots), Err(LocalError::Outside)));
}

#[rstest]
#[case::relative("../secret")]
#[case::relative_to_nothing("../nothing")]
#[case::deep("sub/../../secret")]
#[case::absolute("/etc/passwd")]
#[case::absolute_to_nothing("/nothing/at/all")]
#[case::in_and_out("/proc/self/root/etc/passwd")]
fn a_link_out_of_the_root_is_refused_whether_its_target_exists_or_not(#[case] target: &str) {
    let house = House::new();
    symlink(target, house.path("media/link")).unwrap();
    assert!(matches!(house.open("media/link"), Err(LocalError::Outside)));
    assert!(matches!(house.open("media/link/below"), Err(LocalError::Outside)));
}

#[test]
fn a_path_beside_the_root_is_refused_whether_it_exists_or_not() {
    let house = House::new();
    assert!(matches!(house.open("secret"), Err(LocalError::Outside)));
    assert!(matches!(house.open("nothing"), Err(LocalError::Outside)));
    assert!(matches!(house.open("mediax/a.y4m"), Err(LocalError::Outside)));
}

#[test]
fn what_is_missing_is_not_found() {
    let house = House::new();
    assert!(matches!(house.open("media/b.y4m"), Err(LocalError::NotFound)));
    assert!(matches!(house.open("media/a.y4m/b"), Err(LocalError::NotFound)));
    symlink("b.y4m", house.path("media/dangling")).unwrap();
    assert!(matches!(house.open("media/dangling"), Err(LocalError::NotFound)));
    symlink("round", house.path("media/round")).unwrap();
    assert!(matches!(house.open("media/round"), Err(LocalError::NotFound)));
}

#[test]
fn only_a_regular_file_is_opened() {
    let house = House::new();
    sys::mknodat(CWD, house.path("media/fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = UnixListener::bind(house.path("media/socket")).unwrap();
    for (name, what) in
        [("fifo", "a FIFO"), ("socket", "a socket"), ("sub", "a directory"), ("", "a directory")]
    {
        let error = house.read_opened(&format!("media/{name}")).unwrap_err();
        assert_eq!(error.to_string(), format!("it is {what}, not a regular file"));
    }
}

#[rstest]
#[case::endless("/dev", "/dev/zero", "a device")]
#[case::kernel("/proc", "/proc/version", "a file of the kernel")]
#[case::whole_machine("/", "/proc/self/environ", "a file of the kernel")]
fn devices_and_files_of_the_kernel_are_refused_even_inside_a_root(
    #[case] root: &str,
    #[case] path: &str,
    #[case] what: &str,
) {
    let roots = Roots::parse(&[root.to_owned()]).unwrap();
    let error = LocalFile::open(Path::new(path), &roots).unwrap_err();
    // `/proc/self` is a link that every reader sees differently: following it by hand is refused or ends in /proc.
    assert!(error.to_string().contains(what) || matches!(error, LocalError::NotFound), "{error}");
}

#[test]
fn a_name_that_is_swapped_for_a_link_never_leads_out() {
    let house = House::new();
    fs::create_dir(house.path("outside")).unwrap();
    fs::write(house.path("outside/a.y4m"), "outside").unwrap();
    fs::write(house.path("media/sub/a.y4m"), "inside").unwrap();
    let stop = AtomicBool::new(false);
    let (mut inside, mut tries, mut others) = (0, 0, Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The directory and a link out of the root take turns, atomically.
            symlink("../outside", house.path("media/link")).unwrap();
            while !stop.load(Ordering::Relaxed) {
                let (a, b) = (house.path("media/sub"), house.path("media/link"));
                let _ = sys::renameat_with(CWD, &a, CWD, &b, sys::RenameFlags::EXCHANGE);
            }
        });
        // Nothing is asserted before the other thread has been told to stop: it would be waited for forever.
        while inside < 200 && tries < 200_000 && others.is_empty() {
            tries += 1;
            match house.read_opened("media/sub/a.y4m") {
                Ok(text) if text == "inside" => inside += 1,
                Err(LocalError::Outside | LocalError::NotFound | LocalError::Swapped) => {}
                other => others.push(format!("{other:?}")),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(others, Vec::<String>::new());
    assert!(inside > 0, "of {tries} tries none found the directory in its place");
}

impl House {
    /// What the opened file holds, without opening it again.
    fn read_opened(&self, below: &str) -> Result<String, LocalError> {
        let file = LocalFile::open(&self.path(below), &self.roots())?;
        let mut text = String::new();
        file.file().read_to_string(&mut text).unwrap();
        Ok(text)
    }
}

#[test]
fn a_new_file_is_made_only_below_a_root() {
    let house = House::new();
    symlink("/tmp", house.path("media/out")).unwrap();
    let new = |below: &str| parent_of_new(&house.path(below), &house.roots()).map(|(_, name)| name);
    assert_eq!(new("media/sub/report.json").unwrap(), "report.json");
    assert!(matches!(new("media/out/report.json"), Err(LocalError::Outside)));
    assert!(matches!(new("report.json"), Err(LocalError::Outside)));
    assert!(matches!(new("media"), Err(LocalError::Outside)));
    assert!(matches!(new("media/nowhere/report.json"), Err(LocalError::NotFound)));
}
