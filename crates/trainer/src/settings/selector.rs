use std::collections::BTreeMap;
use std::str::FromStr;

/// Labels that the node which scored a sample must have had, as a JSON object of strings; empty selects all nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSelector(pub BTreeMap<String, String>);

impl FromStr for NodeSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_str(text)
            .map(Self)
            .map_err(|_| r#"write labels as a JSON object, such as {"zone": "a"}"#.to_owned())
    }
}
