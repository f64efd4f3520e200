//! A `.proto` may be written in many ways: each is taken for what it says, or refused with nothing written.

use super::*;

/// What becomes of a way of writing.
enum Becomes {
    /// The same record: nothing to do.
    Same,
    /// Columns join, or an epoch begins: it is written, and the second time there is nothing to do.
    Written,
    /// It is refused, with this text.
    Refused(&'static str),
}
use Becomes::{Refused, Same, Written};

const TAG: &str = "  string tag = 51;\n";

/// The text with a part in the stead of another.
fn with(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

/// Behind the tag.
fn joined(text: &str, lines: &str) -> String {
    with(text, TAG, &format!("{TAG}{lines}"))
}

fn labels(text: &str, further: impl Iterator<Item = String>) -> String {
    with(text, "  LOCALITY_REMOTE = 3;\n", &format!("  LOCALITY_REMOTE = 3;\n{}", further.collect::<String>()))
}

#[test]
fn every_way_of_writing_is_taken_or_refused() {
    let plain = Repository::new().read("proto/xtcp_flat_record.proto");
    let tag = |to: &str| with(&plain, TAG, to);
    let message = |to: &str| with(&plain, "message XtcpFlatRecord {", to);
    let gone = with(&plain, "  string label = 50;\n", "");
    let imported =
        with(&plain, "package xtcp_flat_record.v1;\n", "package xtcp_flat_record.v1;\nimport \"near.proto\";\n");
    let options =
        "import \"google/protobuf/descriptor.proto\";\nextend google.protobuf.FieldOptions { string unit = 50001; }\n";
    let optioned = with(&plain, "package xtcp_flat_record.v1;\n", &format!("package xtcp_flat_record.v1;\n{options}"));
    let cases: Vec<(&str, String, Becomes)> = vec![
        ("lines that end as on Windows", plain.replace('\n', "\r\n"), Same),
        ("such lines, and a field that left", gone.replace('\n', "\r\n"), Written),
        ("a mark at the begin", format!("\u{feff}{plain}"), Same),
        ("a mark, and one more field", format!("\u{feff}{}", joined(&plain, "  string boot_id = 55;\n")), Written),
        ("options", tag("  string tag = 51 [deprecated = true, json_name = \"theTag\"];\n"), Same),
        ("options over lines", tag("  string tag = 51 [\n    // old\n    deprecated = true\n  ];\n"), Same),
        ("options of its own", with(&optioned, TAG, "  string tag = 51 [(unit) = \"none; }\"];\n"), Same),
        ("comments anywhere", tag("  string /* a; */ tag /* { */ = /* 5 */ 51 /* } */ ; /* behind; */\n"), Same),
        ("a number in another base", tag("  string tag = 0x33;\n"), Same),
        (
            "everything on a line",
            plain.lines().map(|l| l.split("//").next().unwrap_or("")).collect::<Vec<_>>().join(" "),
            Refused("says nothing after it"),
        ),
        (
            "a brace in a comment before the body",
            message("message XtcpFlatRecord /* { */ {").replace("  string label = 50;\n", ""),
            Written,
        ),
        (
            "a body that begins further down",
            message("message XtcpFlatRecord // {\n{").replace("  string label = 50;\n", ""),
            Written,
        ),
        (
            "a body on the line of its brace",
            with(&gone, "message XtcpFlatRecord {\n", "message XtcpFlatRecord {"),
            Written,
        ),
        (
            "another message before it",
            message("message Other { string a = 1; } message XtcpFlatRecord {").replace("  string label = 50;\n", ""),
            Written,
        ),
        ("optional", tag("  optional string tag = 51;\n"), Same),
        ("a service", format!("{plain}\nservice S {{ rpc Send(XtcpFlatRecord) returns (Envelope); }}\n"), Same),
        ("reserved for ever", message("message XtcpFlatRecord {\n  reserved 3000 to max;"), Same),
        (
            "what is reserved for ever",
            joined(&message("message XtcpFlatRecord {\n  reserved 3000 to max;"), "  string a = 3001; // a.b\n"),
            Refused("3001"),
        ),
        (
            "names that SQL and YAML know",
            joined(&plain, "  string order = 55;\n  uint32 index = 56;\n  bool on = 57;\n  string null = 58;\n"),
            Written,
        ),
        ("names in other cases", joined(&plain, "  string bootId = 55;\n  string KERNEL = 56;\n"), Written),
        (
            "every scalar",
            joined(
                &plain,
                "  sint32 a1 = 71;\n  sint64 a2 = 72;\n  fixed32 a3 = 73;\n  fixed64 a4 = 74;\n  sfixed32 a5 = 75;\n  sfixed64 a6 = 76;\n  float a7 = 77;\n  double a8 = 78;\n  bool a9 = 79;\n  int32 b1 = 80;\n  int64 b2 = 81;\n  bytes b3 = 82;\n",
            ),
            Written,
        ),
        ("an enum of 300 labels", labels(&plain, (4..300).map(|n| format!("  LOCALITY_X{n} = {n};\n"))), Written),
        ("a negative label", labels(&plain, ["  LOCALITY_NOWHERE = -1;\n".to_owned()].into_iter()), Written),
        (
            "an enum of its own",
            joined(
                &with(
                    &plain,
                    "// One TCP socket",
                    "enum Weather {\n  WEATHER_UNSPECIFIED = 0;\n  WEATHER_RAIN = 1;\n}\n\n// One TCP socket",
                ),
                "  Weather weather = 55;\n",
            ),
            Written,
        ),
        (
            "labels that differ in case alone",
            labels(&plain, ["  LOCALITY_Remote = 4;\n".to_owned()].into_iter()),
            Refused("are `remote` in a column"),
        ),
        (
            "labels beyond two bytes",
            labels(&plain, ["  LOCALITY_FAR = 70000;\n".to_owned()].into_iter()),
            Refused("-32768 to 32767"),
        ),
        ("an import that stays behind", joined(&imported, "  near.Near near = 55;\n"), Refused("near.proto")),
        ("repeated", tag("  repeated string tag = 51;\n"), Refused("of several the last would win")),
        (
            "packed",
            joined(&plain, "  repeated uint32 path = 55 [packed = false];\n"),
            Refused("of several the last would win"),
        ),
        ("a message", joined(&plain, "  Envelope inner = 55;\n"), Refused("field `inner` is a message")),
        (
            "a nested message",
            joined(&plain, "  message In { uint32 a = 1; }\n  In in = 55;\n"),
            Refused("nested message `In`"),
        ),
        ("a oneof", joined(&plain, "  oneof key { string a = 55; bytes b = 56; }\n"), Refused("oneof `key`")),
        ("a map", joined(&plain, "  map<string, string> tags = 55;\n"), Refused("map field `tags`")),
        ("a group", joined(&plain, "  optional group Old = 55 { optional uint32 a = 1; }\n"), Refused("group")),
        ("proto2", with(&plain, "\"proto3\"", "\"proto2\""), Refused("proto")),
        ("an edition", with(&plain, "syntax = \"proto3\";", "edition = \"2023\";"), Refused("edition")),
        (
            "another package",
            with(&plain, "package xtcp_flat_record.v1;", "package a.very.deep.one.v1;"),
            Refused("`xtcp_flat_record.v1` is needed"),
        ),
        ("a reserved name", joined(&plain, "  string c_group = 55;\n"), Refused("c_group")),
        ("a string that doesn't end", tag("  string tag = 51 [json_name = \"x];\n"), Refused("new.proto:")),
    ];
    let mut wrong = Vec::new();
    for (way, text, becomes) in cases {
        let repository = Repository::new();
        fs::write(repository.path("near.proto"), "syntax = \"proto3\";\npackage near;\nenum Near { NEAR_NO = 0; }\n")
            .expect("w");
        fs::write(repository.path("new.proto"), text).expect("written");
        let before = repository.everything();
        let path = repository.path("new.proto");
        let source = Source { path: path.clone(), includes: Vec::new(), message: declared::MESSAGE.to_owned() };
        let drafted = ProtoFile::read(&source)
            .map_err(|error| error.to_string())
            .and_then(|new| draft(&new, &path, &repository.request(None, &[])).map_err(|error| error.to_string()));
        let found = match (becomes, drafted) {
            (Same, Ok(made)) if made.writes.is_empty() => Ok(()),
            (Written, Ok(made)) => written(&repository, &made),
            (Refused(expected), Err(said)) if !said.contains(expected) => {
                Err(format!("refused for another reason: {said}"))
            }
            (Refused(_), Err(_)) if repository.everything() == before => Ok(()),
            (_, Ok(made)) => Err(format!("{} files would be written", made.writes.len())),
            (_, Err(said)) => Err(format!("refused: {said}")),
        };
        wrong.extend(found.err().map(|why| format!("{way}: {why}")));
    }
    assert_eq!(wrong, [""; 0]);
}

/// Writes it, and says what is wrong with it then.
fn written(repository: &Repository, made: &Draft) -> Result<(), String> {
    write(&repository.path("ddl"), &made.writes).map_err(|error| error.to_string())?;
    let epoch = repository.definitions().registry.newest().number;
    if (epoch, made.is_new_epoch) != (made.epoch, epoch == 3) {
        return Err(format!("it is epoch {epoch}"));
    }
    // The repository's own is read where the build reads it, and lines end as they did.
    let proto = repository.read("proto/xtcp_flat_record.proto");
    let ends = (proto.matches('\n').count(), proto.matches("\r\n").count());
    if ends.1 != 0 && ends.0 != ends.1 {
        return Err(format!("{ends:?} ends of lines"));
    }
    read(&repository.path("proto/xtcp_flat_record.proto"));
    let again = repository.draft(None, &[]).map_err(|error| format!("the second time: {error}"))?;
    if again.writes.is_empty() { Ok(()) } else { Err("the second time there is more to do".to_owned()) }
}
