//! Varints, frames and the field cursor of the protobuf wire format: no I/O, no allocation.
