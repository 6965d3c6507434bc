//! Kernels on planes that no clip has: luma only, and rows with padding of any length.

use std::collections::BTreeMap;
use std::fmt;

use vmafx_kernels::{
    Adm, AdmConfig, AdmOptions, Cambi, CambiConfig, CambiOptions, InstructionSet, MaskingOverflow, Motion,
    MotionConfig, MotionOptions, Plane, Speed, SpeedConfig, SpeedOptions, SummationOrder, Vif, VifConfig,
};

use super::case::{choose, content};
use super::{Tally, Values};
use crate::clips::alone_with_cpu_mask;
use crate::support::libvmaf::{self, CpuMask};
use crate::support::picture::{Chroma, Content, Level, Picture, Random, StoredPlane, distort};

#[derive(Debug)]
pub(super) struct Case {
    seed: u64,
    width: usize,
    height: usize,
    depth: u32,
    chroma: Chroma,
    contents: [Content; 2],
    contrast: f64,
    noise: u32,
    /// Samples between the rows of the reference and of the distorted picture.
    padding: [usize; 2],
    enhancement_gain_limit: u32,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "case {:#x}: {self:?}", self.seed)
    }
}

/// An extractor of libvmaf with its options, and the names of its values.
struct Extractor {
    name: &'static str,
    options: Vec<(&'static str, String)>,
    values: Vec<String>,
}

impl Extractor {
    /// The values of pairs by their names.
    fn named(&self, of_pairs: &[Vec<f64>]) -> Values {
        let named = |(index, name): (usize, &String)| {
            (name.clone(), of_pairs.iter().map(|values| values[index].to_bits()).collect())
        };
        self.values.iter().enumerate().map(named).collect()
    }

    fn of_libvmaf(&self, pairs: &[(&Picture, &Picture)]) -> Values {
        let options: Vec<_> = self.options.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let measure = || libvmaf::features(CpuMask::None, self.name, &options, pairs, &self.values);
        self.named(&alone_with_cpu_mask(measure))
    }
}

/// The values of one pair.
type Measured = (Extractor, Vec<f64>);

impl Case {
    pub(super) fn random(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let side = |random: &mut Random| {
            let end = choose(random, &[32, 100, 500]);
            16 + random.below(end) as usize
        };
        let reference = content(random);
        Self {
            seed,
            width: side(random),
            height: side(random),
            depth: choose(random, &[8, 10, 12, 16]),
            chroma: choose(
                random,
                &[Chroma::None, Chroma::None, Chroma::Both, Chroma::Horizontal, Chroma::Full],
            ),
            contents: [reference, if random.below(4) == 0 { content(random) } else { reference }],
            contrast: choose(random, &[-1.0, 0.8, 1.0, 1.02, 1.3]),
            noise: choose(random, &[0, 1, 3, 20]),
            padding: [random.below(70) as usize, random.below(3) as usize],
            enhancement_gain_limit: choose(random, &[100, 1]),
        }
    }

    pub(super) fn run(&self, tally: &mut Tally) {
        let picture =
            |content: Content, seed| content.picture(self.width, self.height, self.depth, self.chroma, seed);
        let frames = [0, 1, 1, 2].map(|frame| picture(self.contents[0], self.seed.wrapping_add(frame)));
        let distorted = if self.contents[0] == self.contents[1] {
            distort(&frames[0], self.contrast, self.noise, self.seed)
        } else {
            picture(self.contents[1], self.seed)
        };
        if self.depth == 8 {
            self.measure::<u8>(&frames, &distorted, tally);
        } else {
            self.measure::<u16>(&frames, &distorted, tally);
        }
    }

    fn measure<T: Level>(&self, frames: &[Picture; 4], distorted: &Picture, tally: &mut Tally) {
        let reference = &frames[0];
        let stored = |picture: &Picture, padding| -> Vec<StoredPlane<T>> {
            picture.planes.iter().map(|plane| plane.store(padding)).collect()
        };
        let (ours, theirs) = (stored(reference, self.padding[0]), stored(distorted, self.padding[1]));
        let (ours, theirs): (Vec<_>, Vec<_>) =
            (ours.iter().map(StoredPlane::plane).collect(), theirs.iter().map(StoredPlane::plane).collect());
        let pair = [(reference, distorted)];
        let clip = frames.each_ref().map(|frame| (frame, frame));
        let mut theirs_by_extractor = BTreeMap::new();
        for set in InstructionSet::available() {
            let of_pair = [
                self.vif(set, [&ours[0], &theirs[0]]),
                self.adm(set, [&ours[0], &theirs[0]]),
                self.cambi(set, &theirs[0]),
                self.speed(set, &ours[1..], &theirs[1..]),
            ];
            let of_pair = of_pair.into_iter().flatten();
            let of_pair = of_pair.map(|(extractor, values)| (extractor, vec![values], &pair[..]));
            let (extractor, values) = self.motion::<T>(set, frames);
            for (extractor, ours, pairs) in of_pair.chain([(extractor, values, &clip[..])]) {
                let theirs =
                    theirs_by_extractor.entry(extractor.name).or_insert_with(|| extractor.of_libvmaf(pairs));
                let frames: Vec<u64> = (0..pairs.len() as u64).collect();
                tally.compare(&format!("{set}, {self}"), &frames, theirs, &extractor.named(&ours));
            }
        }
    }

    fn vif<T: Level>(
        &self,
        set: InstructionSet,
        [reference, distorted]: [&Plane<'_, T>; 2],
    ) -> Option<Measured> {
        let Self { width, height, depth, enhancement_gain_limit, .. } = *self;
        let config = VifConfig {
            width,
            height,
            depth,
            enhancement_gain_limit: enhancement_gain_limit.into(),
            instruction_set: set,
        };
        let scores = Vif::new(&config).ok()?.measure(reference, distorted).unwrap();
        let name = |scale| match enhancement_gain_limit {
            100 => format!("VMAF_integer_feature_vif_scale{scale}_score"),
            limit => format!("integer_vif_scale{scale}_egl_{limit}"),
        };
        let options = vec![("vif_enhn_gain_limit", enhancement_gain_limit.to_string())];
        let extractor = Extractor { name: "vif", options, values: (0..4).map(name).collect() };
        Some((extractor, scores.scales.map(|scale| scale.score()).to_vec()))
    }

    fn adm<T: Level>(
        &self,
        set: InstructionSet,
        [reference, distorted]: [&Plane<'_, T>; 2],
    ) -> Option<Measured> {
        let Self { width, height, depth, enhancement_gain_limit, .. } = *self;
        // At other sizes, values of libvmaf depend on what was in memory before.
        if !Adm::is_consistent_in_libvmaf(width)
            || height < 33
            || width < 33
            || (width < 97 && (1..=4).contains(&(width % 16)))
        {
            return None;
        }
        let options = AdmOptions { enhancement_gain_limit, ..AdmOptions::default() };
        let overflow = MaskingOverflow::of_libvmaf();
        let config = AdmConfig { width, height, depth, options, overflow, instruction_set: set };
        let scores = Adm::new(&config).ok()?.measure(reference, distorted).unwrap();
        let (score, suffix) = match enhancement_gain_limit {
            100 => (("VMAF_integer_feature_", "_score"), String::new()),
            limit => (("integer_", ""), format!("_egl_{limit}")),
        };
        let scores_of_pair =
            ["adm2", "adm3", "aim"].map(|name| format!("{}{name}{}{suffix}", score.0, score.1));
        let scales = (0..4).map(|scale| format!("integer_adm_scale{scale}{suffix}"));
        let options = vec![("adm_enhn_gain_limit", enhancement_gain_limit.to_string())];
        let extractor =
            Extractor { name: "adm", options, values: scores_of_pair.into_iter().chain(scales).collect() };
        let of_pair = [Some(scores.adm2), scores.adm3, scores.aim].into_iter().flatten();
        Some((extractor, of_pair.chain(scores.scales.map(|scale| scale.score())).collect()))
    }

    fn cambi<T: Level>(&self, set: InstructionSet, distorted: &Plane<'_, T>) -> Option<Measured> {
        let Self { width, height, depth, .. } = *self;
        let config =
            CambiConfig { width, height, depth, options: CambiOptions::default(), instruction_set: set };
        let score = Cambi::new(&config).ok()?.measure(distorted).unwrap().cambi;
        let values = vec!["Cambi_feature_cambi_score".to_owned()];
        Some((Extractor { name: "cambi", options: Vec::new(), values }, vec![score]))
    }

    /// Chroma, if there is any.
    fn speed<T: Level>(
        &self,
        set: InstructionSet,
        reference: &[Plane<'_, T>],
        distorted: &[Plane<'_, T>],
    ) -> Option<Measured> {
        let ([reference, reference_v], [distorted, distorted_v]) = (reference, distorted) else {
            return None;
        };
        let config = SpeedConfig {
            width: reference.width(),
            height: reference.height(),
            depth: self.depth,
            options: SpeedOptions::default(),
            order: SummationOrder::of_libvmaf(),
            instruction_set: set,
        };
        let mut speed = Speed::new(&config).ok()?;
        let scores = speed.measure([reference, reference_v], [distorted, distorted_v]).unwrap();
        let values = ["u", "v", "uv"].map(|plane| format!("Speed_chroma_feature_speed_chroma_{plane}_score"));
        let extractor = Extractor { name: "speed_chroma", options: Vec::new(), values: values.to_vec() };
        Some((extractor, vec![scores.u, scores.v, scores.uv]))
    }

    fn motion<T: Level>(&self, set: InstructionSet, frames: &[Picture; 4]) -> (Extractor, Vec<Vec<f64>>) {
        let Self { width, height, depth, .. } = *self;
        let config =
            MotionConfig { width, height, depth, options: MotionOptions::default(), instruction_set: set };
        let mut motion = Motion::new(&config).unwrap();
        for frame in frames {
            motion.push(&frame.planes[0].store::<T>(self.padding[0]).plane()).unwrap();
        }
        let values = ["motion2", "motion3"].map(|name| format!("VMAF_integer_feature_{name}_score"));
        let extractor = Extractor { name: "motion", options: Vec::new(), values: values.to_vec() };
        let scores = motion.series().scores(frames.len());
        (extractor, scores.iter().map(|score| vec![score.motion2, score.motion3]).collect())
    }
}
