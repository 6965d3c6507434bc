//! What each image is.

/// An image of one program.
#[derive(Debug)]
pub(crate) struct Product {
    /// The program, which is also the image's name and its package's.
    pub(crate) program: &'static str,
    /// For people.
    pub(crate) title: &'static str,
    /// In one sentence.
    pub(crate) description: &'static str,
    /// Where it listens unless it is told otherwise.
    pub(crate) ports: &'static [u16],
    /// Programs of this machine that it starts.
    pub(crate) tools: &'static [&'static str],
    /// What the licences of programs and tools together are. Those of libraries are in the bill of materials.
    pub(crate) licenses: &'static str,
    /// Most bytes that it may have on a disk, made of optimised programs; none: no bound.
    pub(crate) largest: Option<u64>,
}

/// All images.
pub(crate) const PRODUCTS: [Product; 4] = [
    Product {
        program: "vmafx-operator",
        title: "VMAFX operator",
        description: "Runs nodes, jobs and trainings of VMAFX on Kubernetes",
        ports: &[8081, 8082, 9443],
        tools: &[],
        licenses: "Apache-2.0",
        // It is pulled wherever a cluster puts it, and stands between an outage and its end.
        largest: Some(40_000_000),
    },
    Product {
        program: "vmafx-controller",
        title: "VMAFX controller",
        description: "The queue of scoring jobs, over HTTP and gRPC",
        ports: &[8080, 9090],
        tools: &[],
        licenses: "Apache-2.0",
        largest: None,
    },
    Product {
        program: "vmafx-node",
        title: "VMAFX node",
        description: "Scores video quality, with ffmpeg to decode and rclone to fetch",
        ports: &[9090],
        // Clips are probed by ffmpeg itself: ffprobe is not called.
        tools: &["/usr/bin/ffmpeg", "/usr/bin/rclone"],
        licenses: "Apache-2.0 AND GPL-2.0-or-later AND MIT",
        largest: None,
    },
    Product {
        program: "vmafx-trainer",
        title: "VMAFX trainer",
        description: "Improves a quality model from labelled scores and publishes its checkpoints",
        ports: &[9091],
        tools: &[],
        licenses: "Apache-2.0",
        largest: None,
    },
];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace;

    /// The stage of an image in the Containerfile, with lines that go on made one.
    fn stage(name: &str) -> String {
        let file = fs::read_to_string(workspace::root().join("deploy/containers/Containerfile")).unwrap();
        let file = file.replace("\\\n", " ");
        let mut stages = file.split("\nFROM ");
        stages.find(|stage| stage.lines().next().is_some_and(|line| line.ends_with(name))).unwrap().to_owned()
    }

    #[test]
    fn the_containerfile_makes_the_same_images() {
        for product in &PRODUCTS {
            let program = product.program;
            let stage = stage(&format!(" AS {program}"));
            let ports: Vec<_> = product.ports.iter().map(|port| format!("{port}/tcp")).collect();
            let mut expected = vec![
                format!("image.title=\"{}\"", product.title),
                format!("image.description=\"{}\"", product.description),
                format!("image.licenses=\"{}\"", product.licenses),
                format!("COPY --from=build /out/{program} /usr/bin/{program}\n"),
                format!("ENTRYPOINT [\"/usr/bin/{program}\"]\n"),
                format!("EXPOSE {}\n", ports.join(" ")),
                "USER 65532:65532\n".to_owned(),
                "STOPSIGNAL SIGTERM\n".to_owned(),
            ];
            // A tool is called like the package that it comes with.
            expected.extend(product.tools.iter().map(|tool| tool.replace("/usr/bin/", " ") + " "));
            for text in expected {
                assert!(stage.contains(&text), "{text:?} is missing in the stage {program}");
            }
        }
    }
}
