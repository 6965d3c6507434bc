use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use rstest::rstest;
use rustix::fs::CWD;

use super::*;

struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
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

    fn roots(&self) -> ScoringRoots {
        ScoringRoots::parse(&[self.path("media").to_str().unwrap().to_owned()]).unwrap()
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
    assert_eq!(Fixture::new().open("media/a.y4m").unwrap(), "inside");
}

#[test]
fn links_inside_the_root_are_followed() {
    let fixture = Fixture::new();
    symlink("../a.y4m", fixture.path("media/sub/relative")).unwrap();
    symlink(fixture.path("media/sub"), fixture.path("media/absolute")).unwrap();
    symlink("absolute/relative", fixture.path("media/twice")).unwrap();
    assert_eq!(fixture.open("media/twice").unwrap(), "inside");
    let found = LocalFile::open(&fixture.path("media/twice"), &fixture.roots()).unwrap();
    assert_eq!(found.path(), fixture.path("media/a.y4m").canonicalize().unwrap());
}

#[test]
fn a_root_may_be_a_link_itself() {
    let fixture = Fixture::new();
    symlink("media", fixture.path("current")).unwrap();
    let roots = ScoringRoots::parse(&[fixture.path("current").to_str().unwrap().to_owned()]).unwrap();
    assert!(LocalFile::open(&fixture.path("current/a.y4m"), &roots).is_ok());
    assert!(LocalFile::open(&fixture.path("media/a.y4m"), &roots).is_ok(), "by its real name too");
}

#[test]
fn a_link_from_one_root_into_another_is_followed() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("other")).unwrap();
    symlink("../media/a.y4m", fixture.path("other/up")).unwrap();
    symlink(fixture.path("media/a.y4m"), fixture.path("other/across")).unwrap();
    let both = ["media", "other"].map(|name| fixture.path(name).to_str().unwrap().to_owned());
    let roots = ScoringRoots::parse(&both).unwrap();
    assert!(LocalFile::open(&fixture.path("other/across"), &roots).is_ok());
    // `..` leaves the root before the path can enter the other.
    assert!(matches!(LocalFile::open(&fixture.path("other/up"), &roots), Err(LocalError::Outside)));
}

#[rstest]
#[case::relative("../secret")]
#[case::relative_to_nothing("../nothing")]
#[case::deep("sub/../../secret")]
#[case::absolute("/etc/passwd")]
#[case::absolute_to_nothing("/nothing/at/all")]
#[case::in_and_out("/proc/self/root/etc/passwd")]
fn a_link_out_of_the_root_is_refused_whether_its_target_exists_or_not(#[case] target: &str) {
    let fixture = Fixture::new();
    symlink(target, fixture.path("media/link")).unwrap();
    assert!(matches!(fixture.open("media/link"), Err(LocalError::Outside)));
    assert!(matches!(fixture.open("media/link/below"), Err(LocalError::Outside)));
}

#[test]
fn a_path_beside_the_root_is_refused_whether_it_exists_or_not() {
    let fixture = Fixture::new();
    assert!(matches!(fixture.open("secret"), Err(LocalError::Outside)));
    assert!(matches!(fixture.open("nothing"), Err(LocalError::Outside)));
    assert!(matches!(fixture.open("mediax/a.y4m"), Err(LocalError::Outside)));
}

#[test]
fn a_missing_file_is_not_found() {
    let fixture = Fixture::new();
    assert!(matches!(fixture.open("media/b.y4m"), Err(LocalError::NotFound)));
    assert!(matches!(fixture.open("media/a.y4m/b"), Err(LocalError::NotFound)));
    symlink("b.y4m", fixture.path("media/dangling")).unwrap();
    assert!(matches!(fixture.open("media/dangling"), Err(LocalError::NotFound)));
    symlink("round", fixture.path("media/round")).unwrap();
    assert!(matches!(fixture.open("media/round"), Err(LocalError::NotFound)));
}

#[test]
fn only_a_regular_file_is_opened() {
    let fixture = Fixture::new();
    sys::mknodat(CWD, fixture.path("media/fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let _socket = UnixListener::bind(fixture.path("media/socket")).unwrap();
    for (name, what) in
        [("fifo", "a FIFO"), ("socket", "a socket"), ("sub", "a directory"), ("", "a directory")]
    {
        let error = fixture.read_opened(&format!("media/{name}")).unwrap_err();
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
    let roots = ScoringRoots::parse(&[root.to_owned()]).unwrap();
    let error = LocalFile::open(Path::new(path), &roots).unwrap_err();
    // `/proc/self` is a link that every process sees differently: following it by hand is refused or ends in /proc.
    assert!(error.to_string().contains(what) || matches!(error, LocalError::NotFound), "{error}");
}

#[test]
fn a_name_that_is_swapped_for_a_link_never_leads_out() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("outside")).unwrap();
    fs::write(fixture.path("outside/a.y4m"), "outside").unwrap();
    fs::write(fixture.path("media/sub/a.y4m"), "inside").unwrap();
    let stop = AtomicBool::new(false);
    let (mut inside, mut tries, mut others) = (0, 0, Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Exchanges the directory with a link out of the root, atomically.
            symlink("../outside", fixture.path("media/link")).unwrap();
            while !stop.load(Ordering::Relaxed) {
                let (a, b) = (fixture.path("media/sub"), fixture.path("media/link"));
                let _ = sys::renameat_with(CWD, &a, CWD, &b, sys::RenameFlags::EXCHANGE);
            }
        });
        // Assertions come after the other thread was told to stop: the scope would wait for it forever.
        while inside < 200 && tries < 200_000 && others.is_empty() {
            tries += 1;
            match fixture.read_opened("media/sub/a.y4m") {
                Ok(text) if text == "inside" => inside += 1,
                Err(LocalError::Outside | LocalError::NotFound | LocalError::Swapped) => {}
                other => others.push(format!("{other:?}")),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(others, Vec::<String>::new());
    assert!(inside > 0, "none of {tries} tries found the directory in its place");
}

impl Fixture {
    /// The content of the opened file, without opening it again.
    fn read_opened(&self, below: &str) -> Result<String, LocalError> {
        let file = LocalFile::open(&self.path(below), &self.roots())?;
        let mut text = String::new();
        file.file().read_to_string(&mut text).unwrap();
        Ok(text)
    }
}

#[test]
fn a_new_file_is_created_below_a_root_only() {
    let fixture = Fixture::new();
    symlink("/tmp", fixture.path("media/out")).unwrap();
    let new = |below: &str| parent_of_new(&fixture.path(below), &fixture.roots()).map(|(_, name)| name);
    assert_eq!(new("media/sub/report.json").unwrap(), "report.json");
    assert!(matches!(new("media/out/report.json"), Err(LocalError::Outside)));
    assert!(matches!(new("report.json"), Err(LocalError::Outside)));
    assert!(matches!(new("media"), Err(LocalError::Outside)));
    assert!(matches!(new("media/nowhere/report.json"), Err(LocalError::NotFound)));
}
