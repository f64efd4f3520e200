//! A certificate authority of a test's own.

use openssl::{
    asn1::Asn1Time,
    bn::{BigNum, MsbOption},
    ec::{EcGroup, EcKey},
    hash::MessageDigest,
    nid::Nid,
    pkey::{PKey, Private},
    x509::{
        X509, X509Builder, X509Name, X509NameBuilder,
        extension::{BasicConstraints, KeyUsage, SubjectAlternativeName},
    },
};

/// What vouches for the certificates that it issues.
pub struct Authority(Identity);

/// A certificate and its key.
pub struct Identity {
    pub certificate: X509,
    pub key: PKey<Private>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = key();
        let mut certificate = unsigned(name, &key);
        let constraints = BasicConstraints::new().critical().ca().build().expect("an extension");
        let usage = KeyUsage::new().critical().key_cert_sign().crl_sign().build().expect("an extension");
        certificate.append_extension(constraints).expect("appended");
        certificate.append_extension(usage).expect("appended");
        certificate.set_issuer_name(&subject(name)).expect("a name");
        certificate.sign(&key, MessageDigest::sha256()).expect("signed");
        Self(Identity { certificate: certificate.build(), key })
    }

    /// What others need to know to trust what it issues.
    pub fn pem(&self) -> Vec<u8> {
        self.0.certificate.to_pem().expect("PEM")
    }

    /// For a server at 127.0.0.1, under that address alone, or for a client.
    pub fn issue(&self, name: &str) -> Identity {
        let key = key();
        let mut certificate = unsigned(name, &key);
        let issuer = &self.0.certificate;
        let context = certificate.x509v3_context(Some(issuer), None);
        let address = SubjectAlternativeName::new().ip("127.0.0.1").build(&context).expect("an extension");
        certificate.append_extension(address).expect("appended");
        certificate.set_issuer_name(issuer.subject_name()).expect("a name");
        certificate.sign(&self.0.key, MessageDigest::sha256()).expect("signed");
        Identity { certificate: certificate.build(), key }
    }
}

fn key() -> PKey<Private> {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).expect("a curve");
    PKey::from_ec_key(EcKey::generate(&group).expect("a key")).expect("a key")
}

fn subject(name: &str) -> X509Name {
    let mut subject = X509NameBuilder::new().expect("a name");
    subject.append_entry_by_text("CN", name).expect("a name");
    subject.build()
}

fn unsigned(name: &str, key: &PKey<Private>) -> X509Builder {
    let mut serial = BigNum::new().expect("a number");
    serial.rand(127, MsbOption::MAYBE_ZERO, false).expect("a number");
    let mut certificate = X509::builder().expect("a certificate");
    certificate.set_version(2).expect("version 3");
    certificate.set_serial_number(&serial.to_asn1_integer().expect("a number")).expect("a number");
    certificate.set_subject_name(&subject(name)).expect("a name");
    certificate.set_pubkey(key).expect("a key");
    certificate.set_not_before(&Asn1Time::days_from_now(0).expect("a time")).expect("a time");
    certificate.set_not_after(&Asn1Time::days_from_now(1).expect("a time")).expect("a time");
    certificate
}
