//! The compiled contract, read back from the descriptors that the crate publishes.

use prost_reflect::{
    Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor,
};

pub(crate) fn pool() -> DescriptorPool {
    DescriptorPool::decode(vmafx_proto::FILE_DESCRIPTOR_SET).expect("the published descriptors decode")
}

/// Every message except the entry types that the compiler generates for maps.
pub(crate) fn messages(pool: &DescriptorPool) -> Vec<MessageDescriptor> {
    pool.all_messages().filter(|message| !message.is_map_entry()).collect()
}

/// The type of a field as in a `.proto` file, after its label or oneof.
pub(crate) fn type_of(field: &FieldDescriptor) -> String {
    if let Kind::Message(entry) = field.kind()
        && field.is_map()
    {
        let part = |field: FieldDescriptor| kind_name(&field);
        return format!(
            "map<{}, {}>",
            part(entry.map_entry_key_field()),
            part(entry.map_entry_value_field())
        );
    }
    let kind = kind_name(field);
    let optional = field.field_descriptor_proto().proto3_optional();
    match (field.cardinality(), field.containing_oneof()) {
        (Cardinality::Repeated, _) => format!("repeated {kind}"),
        (Cardinality::Required, _) => format!("required {kind}"),
        // The descriptor represents `optional` as a oneof of one field.
        (Cardinality::Optional, Some(_)) if optional => format!("optional {kind}"),
        (Cardinality::Optional, Some(oneof)) => format!("oneof {} {kind}", oneof.name()),
        (Cardinality::Optional, None) => kind,
    }
}

/// Types of the same package are named without their package.
fn kind_name(field: &FieldDescriptor) -> String {
    let package = format!("{}.", field.parent_message().package_name());
    let short = |name: &str| name.strip_prefix(&package).unwrap_or(name).to_owned();
    match field.kind() {
        Kind::Message(message) => short(message.full_name()),
        Kind::Enum(values) => short(values.full_name()),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

/// `(Request) returns (Response)`, with the streaming sides marked.
pub(crate) fn signature(method: &MethodDescriptor) -> String {
    let side = |streams: bool, message: &MessageDescriptor| {
        format!("({}{})", if streams { "stream " } else { "" }, message.name())
    };
    format!(
        "{} returns {}",
        side(method.is_client_streaming(), &method.input()),
        side(method.is_server_streaming(), &method.output())
    )
}
