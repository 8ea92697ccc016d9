//! Files that are not networks that can be used, and what is said about them.

mod common;

use std::io::{Read, Write};

use common::folder;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tengen_katago::{Activation, Block, Network, is_network_file};

/// The network in the tests' folder, as it is stored.
fn stored(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.bin.gz"))).unwrap()
}

fn unpacked(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(&stored(name)[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The network with some of its text replaced.
fn edited(name: &str, from: &str, to: &str) -> Vec<u8> {
    let bytes = unpacked(name);
    let start = bytes.windows(from.len()).position(|window| window == from.as_bytes());
    let start = start.unwrap_or_else(|| panic!("{from:?} is not in {name}"));
    [&bytes[..start], to.as_bytes(), &bytes[start + from.len()..]].concat()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn refused(bytes: &[u8]) -> String {
    Network::decode(bytes).unwrap_err().to_string()
}

#[test]
fn networks_are_what_their_files_say() {
    let plain = Network::decode(&stored("v10-plain")).unwrap();
    assert_eq!((plain.name.as_str(), plain.version), ("v10-plain", 10));
    assert_eq!(plain.shape(), "3 blocks of 12 channels, version 10");
    assert!(matches!(plain.trunk.blocks[1], Block::Pooling { .. }));
    assert_eq!(plain.trunk.tip.activation, Activation::Relu);
    let nested = Network::decode(&stored("v15-nested")).unwrap();
    assert!(matches!(&nested.trunk.blocks[1], Block::Nested { blocks, .. } if blocks.len() == 2));
    assert_eq!(nested.trunk.tip.activation, Activation::Mish);
    assert!(nested.policy.pass_layer.is_some());
    assert_eq!(nested.sha256.len(), 64);
}

#[test]
fn files_need_no_compression_and_may_be_text() {
    let known = Network::decode(&stored("v10-plain")).unwrap();
    let plain = Network::decode(&unpacked("v10-plain")).unwrap();
    assert_eq!((plain.trunk, plain.value), (known.trunk.clone(), known.value.clone()));
    let text = Network::decode(&packed(&as_text(&unpacked("v10-plain")))).unwrap();
    assert_eq!((text.trunk, text.policy), (known.trunk, known.policy));
}

/// The same file with all weights as words.
fn as_text(binary: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), binary);
    while let Some(start) = rest.windows(5).position(|window| window == b"@BIN@") {
        out.extend_from_slice(&rest[..start]);
        rest = &rest[start + 5..];
        let weights = (1..).find(|&count| ends_after(rest, 4 * count)).unwrap();
        for quad in rest[..4 * weights].chunks(4) {
            out.extend(format!("{:e} ", f32::from_le_bytes(quad.try_into().unwrap())).bytes());
        }
        rest = &rest[4 * weights..];
    }
    [&out, rest].concat()
}

/// Whether a list of weights ends there: what follows is another list, a name, or the end.
fn ends_after(bytes: &[u8], length: usize) -> bool {
    match bytes[length..].strip_prefix(b"\n") {
        Some(next) => {
            next.starts_with(b"@BIN@")
                || next
                    .iter()
                    .take(5)
                    .all(|byte| byte.is_ascii_lowercase() || *byte == b'.')
        }
        None => false,
    }
}

#[test]
fn other_versions_are_named_with_those_that_are_supported() {
    for (version, end) in [
        ("7", "8 to 16 are supported"),
        ("17", "newer ones are transformers"),
        ("99", "transformers"),
    ] {
        let message = refused(&packed(&edited("v15-nested", "15\n", &format!("{version}\n"))));
        assert!(
            message.contains(&format!("version {version} of KataGo's format")),
            "{message}"
        );
        assert!(message.ends_with(end), "{message}");
    }
}

#[test]
fn networks_that_need_more_are_refused_with_what_they_need() {
    let transformer = refused(&edited(
        "v15-nested",
        "nested_bottleneck_block",
        "transformer_attention_block",
    ));
    assert!(transformer.contains("has a block of the kind transformer_attention_block, and only ordinary_block"));
    let human = refused(&edited("v15-nested", "150.0\n0\n", "150.0\n1\n"));
    assert!(human.contains("(a human-SL network)"), "{human}");
    let activation = refused(&edited("v15-nested", "ACTIVATION_MISH", "ACTIVATION_GELU"));
    assert!(
        activation.contains("the activation ACTIVATION_GELU, and only identity, relu"),
        "{activation}"
    );
    let planes = refused(&edited("v10-plain", "\n22\n", "\n21\n"));
    assert_eq!(planes, "the header: expected 22 input planes, found 21");
}

#[test]
fn incomplete_files_are_called_truncated_and_damaged_ones_damaged() {
    let whole = stored("v14-nested");
    for share in [1, 2, 5, 9] {
        let message = refused(&whole[..whole.len() * share / 10]);
        assert!(
            message.contains("the file is truncated: it ends within the compressed data"),
            "{message}"
        );
    }
    let plain = unpacked("v14-nested");
    for length in [14, 40, 300, plain.len() / 2, plain.len() - 3] {
        let message = refused(&plain[..length]);
        assert!(
            message.starts_with("the file is truncated: it ends within "),
            "{length}: {message}"
        );
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x55;
    assert!(Network::decode(&flipped).is_err());
    let mut infinite = plain.clone();
    let at = plain.windows(5).position(|window| window == b"@BIN@").unwrap() + 5;
    infinite[at..at + 4].copy_from_slice(&f32::INFINITY.to_le_bytes());
    assert!(refused(&infinite).ends_with("expected weights that are finite, found inf"));
    let huge = refused(&edited("v10-plain", "\n3\n12\n", "\n3\n99999\n"));
    assert!(huge.contains("expected 99999 channels written, found 12"), "{huge}");
}

#[test]
fn other_files_are_called_what_they_are() {
    let cases: [(&[u8], &str); 6] = [
        (b"", "an empty file"),
        (b"\x10\0\0\0\0\0\0\0{\"__metadata__\":{}}", "a safetensors file"),
        (b"PK\x03\x04rest", "a zip archive, such as a checkpoint of PyTorch"),
        (b"<!DOCTYPE html>", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
        (b"\xff\xfe\x01\x02", "a file of unknown kind"),
    ];
    for (bytes, kind) in cases {
        let message = refused(bytes);
        assert!(message.starts_with(&format!("this is {kind}")), "{message}");
        assert!(message.ends_with("expected a .bin.gz or .txt.gz file"), "{message}");
    }
    assert!(refused(&packed(b"hello world\n")).contains("expected the version of KataGo's format, found \"world\""));
}

#[test]
fn files_are_recognized_by_name_or_by_their_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    assert!(is_network_file(&path("b6c96.BIN.GZ", b"")));
    assert!(is_network_file(&path("network.txt.gz", b"")));
    assert!(is_network_file(&path("unnamed", &stored("v14-nested"))));
    assert!(!is_network_file(&path("weights.safetensors", b"1234")));
    assert!(!is_network_file(folder.path()));
    assert!(!is_network_file(&folder.path().join("missing")));
    assert!(
        is_network_file(&folder.path().join("missing.bin.gz")),
        "so that the message is about the network"
    );
    let error = Network::load(&path("cut.bin.gz", &stored("v14-nested")[..100])).unwrap_err();
    assert!(
        error.to_string().contains("cut.bin.gz: the file is truncated"),
        "{error}"
    );
}
