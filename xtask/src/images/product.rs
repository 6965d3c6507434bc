//! The images and their properties.

#[derive(Debug)]
pub(crate) struct Product {
    /// Name of the program, of its package and of the image.
    pub(crate) program: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// Default ports.
    pub(crate) ports: &'static [u16],
    /// Programs of this machine that it runs.
    pub(crate) tools: &'static [&'static str],
    /// Licences of the program and its tools. Those of libraries are in the bill of materials.
    pub(crate) licenses: &'static str,
    /// Maximum size on disk in bytes, with optimised programs.
    pub(crate) max_size: Option<u64>,
}

pub(crate) const PRODUCTS: [Product; 4] = [
    Product {
        program: "vmafx-operator",
        title: "VMAFX operator",
        description: "Runs nodes, jobs and trainings of VMAFX on Kubernetes",
        ports: &[8081, 8082, 9443],
        tools: &[],
        licenses: "Apache-2.0",
        // Small, because pulling it delays the recovery from an outage on a new machine.
        max_size: Some(40_000_000),
    },
    Product {
        program: "vmafx-controller",
        title: "VMAFX controller",
        description: "The queue of scoring jobs, over HTTP and gRPC",
        ports: &[8080, 9090],
        tools: &[],
        licenses: "Apache-2.0",
        max_size: None,
    },
    Product {
        program: "vmafx-node",
        title: "VMAFX node",
        description: "Scores video quality, with ffmpeg to decode and rclone to fetch",
        ports: &[9090],
        // Without ffprobe: the node probes clips with ffmpeg.
        tools: &["/usr/bin/ffmpeg", "/usr/bin/rclone"],
        licenses: "Apache-2.0 AND GPL-2.0-or-later AND MIT",
        max_size: None,
    },
    Product {
        program: "vmafx-trainer",
        title: "VMAFX trainer",
        description: "Improves a quality model from labelled scores and publishes its checkpoints",
        ports: &[9091],
        tools: &[],
        licenses: "Apache-2.0",
        max_size: None,
    },
];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::workspace;

    /// The stage of an image in the Containerfile, with continued lines joined.
    fn stage(name: &str) -> String {
        let file = fs::read_to_string(workspace::root().join("deploy/containers/Containerfile")).unwrap();
        let file = file.replace("\\\n", " ");
        let mut stages = file.split("\nFROM ");
        stages.find(|stage| stage.lines().next().is_some_and(|line| line.ends_with(name))).unwrap().to_owned()
    }

    #[test]
    fn the_containerfile_builds_the_same_images() {
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
            // Each tool has the name of its package.
            expected.extend(product.tools.iter().map(|tool| tool.replace("/usr/bin/", " ") + " "));
            for text in expected {
                assert!(stage.contains(&text), "{text:?} is missing in the stage {program}");
            }
        }
    }
}
