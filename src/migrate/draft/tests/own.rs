//! The product's own definitions, whatever their newest epoch is: the next one can be written.

use super::*;

/// The product's own files, whatever their newest epoch is: a rename, a renumber, a removal and an addition, or that alone.
fn own(is_bump: bool) -> (Repository, String) {
    let repository = Repository::of(Path::new(env!("CARGO_MANIFEST_DIR")));
    let definitions = repository.definitions();
    let newest = definitions.registry.newest();
    let fields = &newest.layouts.last().expect("an epoch has a layout").fields;
    let name = |field: &crate::epoch::Field| newest.columns[field.column].name.clone();
    let is_key = |name: &String| newest.table.order_by.iter().any(|key| key.contains(name.as_str()));
    let mut payload = fields.iter().filter(|field| field.number >= crate::migrate::PAYLOAD && !is_key(&name(field)));
    let mut next = || payload.next_back().map(|field| (name(field), field.number)).expect("payload fields");
    let (last, highest) = next();
    let [renamed, moved, gone] = std::array::from_fn(|_| next());
    let mut lines: Vec<String> = Vec::new();
    for line in repository.read("proto/xtcp_flat_record.proto").lines() {
        let declares = |(name, number): &(String, u32)| line.contains(&format!(" {name} = {number};"));
        if is_bump && declares(&renamed) {
            lines.push(line.replace(&renamed.0, &format!("{}_anew", renamed.0)));
        } else if is_bump && declares(&moved) {
            lines.push(line.replace(&format!("= {}", moved.1), &format!("= {}", highest + 2)));
        } else if !(is_bump && declares(&gone)) {
            lines.push(line.to_owned());
        }
        if declares(&(last.clone(), highest)) {
            lines.push(format!("  uint64 tcp_info_of_tomorrow = {}; // tcp_info.tcpi_of_tomorrow", highest + 1));
        }
    }
    fs::write(repository.path("new.proto"), lines.join("\n") + "\n").expect("written");
    let rename = format!("{0}={0}_anew", renamed.0);
    (repository, rename)
}

#[test]
fn the_product_s_own_definitions_can_be_bumped_and_widened() {
    for is_bump in [true, false] {
        let (repository, rename) = own(is_bump);
        let before = repository.definitions();
        let newest = before.registry.newest();
        let renames: &[&str] = if is_bump { &[&rename] } else { &[] };
        let made = repository.make(None, renames);
        assert_eq!((made.is_new_epoch, made.epoch), (is_bump, newest.number + u32::from(is_bump)));
        let after = repository.definitions();
        let epoch = after.registry.newest();
        assert_eq!(epoch.columns.len(), newest.columns.len() + usize::from(!is_bump));
        assert!(epoch.column("tcp_info_of_tomorrow").is_some());
        assert_eq!(after.registry.epochs().len(), before.registry.epochs().len() + usize::from(is_bump));
        let grants = repository.read("ddl/roles/ingest.sql");
        assert_eq!(grants.matches(&format!("INSERT ON {{db}}.{};", epoch.table.name)).count(), 1, "{grants}");
        let all = repository.everything();
        assert!(repository.make(None, renames).writes.is_empty());
        assert_eq!(repository.everything(), all);
    }
}
