//! The structure of an SGF file, for any game: a tree of nodes with properties.

use std::fmt;

use crate::error::SgfPlace;
use crate::value::{SgfValue, escape};

/// Properties that belong only in the first node of a game; they distinguish a new game from a variation. A variation
/// that starts with one anyway is written with a space after its `(`.
pub(super) const ROOT_ONLY: [&str; 5] = ["GM", "FF", "CA", "AP", "SZ"];

/// Marks an absent node.
const NONE: u32 = u32::MAX;

/// One game of an SGF file: a tree of nodes. A node has properties, and a property has values. Branches are variations,
/// the first of which is the main line.
///
/// All data is in a few flat lists in file order, so a tree of any depth is cheap to build, compare and drop. Two trees
/// are equal if their nodes, names and raw values are, regardless of their positions in the files.
///
/// ```
/// use tengen_sgf::{SgfTree, parse_sgf};
/// let mut tree = SgfTree::new();
/// tree.add("SZ", ["9"]);
/// let root = tree.root().id();
/// let first = tree.add_node(root);
/// tree.add("B", ["ee"]);
/// tree.add("C", ["the [center]"]);
/// tree.add_node(first);
/// tree.add("W", [""]);
/// tree.add_node(root);
/// tree.add("B", ["cc"]);
/// assert_eq!(tree.to_string(), "(;SZ[9]\n(;B[ee]C[the [center\\]]\n;W[])\n(;B[cc]))\n");
/// assert_eq!(parse_sgf(&tree.to_string()).unwrap(), [tree]);
/// ```
#[derive(Clone, Debug)]
pub struct SgfTree {
    /// Names and raw values, concatenated.
    text: String,
    nodes: Vec<NodeData>,
    properties: Vec<PropertyData>,
    /// The end of each value in `text`; a value starts where the previous value or name ends.
    values: Vec<u32>,
    /// Position of each property in its file.
    places: Vec<SgfPlace>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct NodeData {
    parent: u32,
    next_sibling: u32,
    first_property: u32,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct PropertyData {
    name_start: u32,
    name_end: u32,
    first_value: u32,
}

impl PartialEq for SgfTree {
    fn eq(&self, other: &SgfTree) -> bool {
        self.text == other.text
            && self.nodes == other.nodes
            && self.properties == other.properties
            && self.values == other.values
    }
}

impl Eq for SgfTree {}

/// Identifies a node of one tree.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SgfNodeId(u32);

impl Default for SgfTree {
    fn default() -> SgfTree {
        SgfTree::new()
    }
}

impl SgfTree {
    /// Creates a tree of one node without properties.
    pub fn new() -> SgfTree {
        SgfTree {
            text: String::new(),
            nodes: vec![NodeData {
                parent: NONE,
                next_sibling: NONE,
                first_property: 0,
            }],
            properties: Vec::new(),
            values: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The first node of the game, which has the game's properties.
    pub fn root(&self) -> SgfNode<'_> {
        self.node(SgfNodeId(0))
    }

    /// The node with an id.
    ///
    /// # Panics
    /// If the id belongs to another, larger tree.
    pub fn node(&self, id: SgfNodeId) -> SgfNode<'_> {
        assert!((id.0 as usize) < self.nodes.len(), "the node belongs to this tree");
        SgfNode {
            tree: self,
            index: id.0,
        }
    }

    /// Number of nodes, at least 1.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Number of values of all properties.
    pub(super) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// All nodes in file order.
    pub fn nodes(&self) -> impl Iterator<Item = SgfNode<'_>> {
        (0..self.nodes.len() as u32).map(|index| SgfNode { tree: self, index })
    }

    /// The nodes of the main line: the root, its first child, and so on.
    pub fn main_line(&self) -> impl Iterator<Item = SgfNode<'_>> {
        std::iter::successors(Some(self.root()), |node| node.first_child())
    }

    /// Adds a node as the last child of `parent`.
    ///
    /// # Panics
    /// If `parent` is neither the last added node nor one of its ancestors, because nodes are added in file order; also
    /// if the tree would exceed 4 GiB.
    pub fn add_node(&mut self, parent: SgfNodeId) -> SgfNodeId {
        let mut above = self.nodes.len() as u32 - 1;
        let mut sibling = NONE;
        while above != parent.0 {
            assert!(above != NONE, "nodes must be added in file order");
            sibling = above;
            above = self.nodes[above as usize].parent;
        }
        let id = offset(self.nodes.len());
        if sibling != NONE {
            self.nodes[sibling as usize].next_sibling = id;
        }
        self.nodes.push(NodeData {
            parent: parent.0,
            next_sibling: NONE,
            first_property: offset(self.properties.len()),
        });
        SgfNodeId(id)
    }

    /// Adds a property with its values to the last added node. Characters that would end a value are escaped.
    ///
    /// # Panics
    /// If the name is not an uppercase letter followed by uppercase letters and digits, if there is no value, or if the
    /// tree would exceed 4 GiB.
    pub fn add<'v>(&mut self, name: &str, values: impl IntoIterator<Item = &'v str>) {
        assert!(is_name(name), "{name:?} is not a valid property name");
        self.begin_property(name, SgfPlace::START);
        let before = self.values.len();
        for value in values {
            self.push_value(&escape(value));
        }
        assert!(self.values.len() > before, "property {name} has no value");
    }

    /// Starts a property of the last added node; its values follow.
    pub(super) fn begin_property(&mut self, name: &str, place: SgfPlace) {
        let name_start = offset(self.text.len());
        self.text.push_str(name);
        self.properties.push(PropertyData {
            name_start,
            name_end: offset(self.text.len()),
            first_value: offset(self.values.len()),
        });
        self.places.push(place);
    }

    /// Adds a raw value to the last started property. A tree is Unicode regardless of its file's encoding, so `CA` says
    /// UTF-8.
    pub(super) fn push_value(&mut self, raw: &str) {
        let property = self.properties.last().expect("a property was started");
        let is_encoding = &self.text[property.name_start as usize..property.name_end as usize] == "CA";
        self.text.push_str(if is_encoding { "UTF-8" } else { raw });
        self.values.push(offset(self.text.len()));
    }
}

/// Whether a text is a property name in normal form.
fn is_name(text: &str) -> bool {
    let capital_or_digit = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    text.starts_with(|first: char| first.is_ascii_uppercase()) && text.bytes().all(capital_or_digit)
}

fn offset(n: usize) -> u32 {
    u32::try_from(n).expect("a game tree is smaller than 4 GiB")
}

impl fmt::Display for SgfTree {
    /// Writes the tree as SGF text with every node on its own line. Parsing it gives an equal tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        // The nodes whose variations are being written, each with its current variation in an open parenthesis.
        let mut open: Vec<u32> = Vec::new();
        let mut node = self.root();
        loop {
            write_node(f, node)?;
            if let Some(child) = node.first_child() {
                f.write_str("\n")?;
                if child.next_sibling().is_some() {
                    open.push(child.index);
                    f.write_str(opening(child))?;
                }
                node = child;
                continue;
            }
            loop {
                f.write_str(")")?;
                let Some(variation) = open.pop() else {
                    return f.write_str("\n");
                };
                if let Some(next) = (SgfNode {
                    tree: self,
                    index: variation,
                })
                .next_sibling()
                {
                    f.write_str("\n")?;
                    f.write_str(opening(next))?;
                    open.push(next.index);
                    node = next;
                    break;
                }
            }
        }
    }
}

/// The text that opens a variation so that it is not mistaken for the start of a game.
fn opening(first: SgfNode<'_>) -> &'static str {
    let looks_like_a_game = first.properties().any(|property| ROOT_ONLY.contains(&property.name()));
    if looks_like_a_game { "( " } else { "(" }
}

fn write_node(f: &mut fmt::Formatter<'_>, node: SgfNode<'_>) -> fmt::Result {
    f.write_str(";")?;
    for property in node.properties() {
        f.write_str(property.name())?;
        for value in property.values() {
            f.write_str("[")?;
            f.write_str(value.raw())?;
            f.write_str("]")?;
        }
    }
    Ok(())
}

/// A node of a tree.
#[derive(Copy, Clone, Debug)]
pub struct SgfNode<'a> {
    tree: &'a SgfTree,
    index: u32,
}

impl<'a> SgfNode<'a> {
    /// The node's id in its tree.
    pub fn id(self) -> SgfNodeId {
        SgfNodeId(self.index)
    }

    fn data(self) -> NodeData {
        self.tree.nodes[self.index as usize]
    }

    fn at(self, index: u32) -> Option<SgfNode<'a>> {
        (index != NONE).then_some(SgfNode { index, ..self })
    }

    /// The previous node; `None` for the root.
    pub fn parent(self) -> Option<SgfNode<'a>> {
        self.at(self.data().parent)
    }

    /// The next node of the main line from here.
    pub fn first_child(self) -> Option<SgfNode<'a>> {
        // Nodes are in file order, so the first child directly follows its parent.
        let next = self.tree.nodes.get(self.index as usize + 1)?;
        (next.parent == self.index).then_some(SgfNode {
            index: self.index + 1,
            ..self
        })
    }

    /// The parent's next child, which is the next variation.
    pub fn next_sibling(self) -> Option<SgfNode<'a>> {
        self.at(self.data().next_sibling)
    }

    /// The next nodes, one per variation.
    pub fn children(self) -> impl Iterator<Item = SgfNode<'a>> {
        std::iter::successors(self.first_child(), |child| child.next_sibling())
    }

    /// The properties in file order.
    pub fn properties(self) -> impl Iterator<Item = SgfProperty<'a>> {
        let tree = self.tree;
        let next = tree.nodes.get(self.index as usize + 1);
        let end = next.map_or(tree.properties.len() as u32, |next| next.first_property);
        (self.data().first_property..end).map(move |index| SgfProperty { tree, index })
    }

    /// The first property with a name.
    pub fn get(self, name: &str) -> Option<SgfProperty<'a>> {
        self.properties().find(|property| property.name() == name)
    }
}

/// A property of a node: a name with values.
#[derive(Copy, Clone, Debug)]
pub struct SgfProperty<'a> {
    tree: &'a SgfTree,
    index: u32,
}

impl<'a> SgfProperty<'a> {
    fn data(self) -> PropertyData {
        self.tree.properties[self.index as usize]
    }

    /// The name in uppercase. Lowercase letters (third format and earlier) are dropped unless all letters are
    /// lowercase: `White` is `W`, `sz` is `SZ`.
    pub fn name(self) -> &'a str {
        let data = self.data();
        &self.tree.text[data.name_start as usize..data.name_end as usize]
    }

    /// The values in file order; there is at least one.
    pub fn values(self) -> impl Iterator<Item = SgfValue<'a>> {
        let (tree, data) = (self.tree, self.data());
        let next = tree.properties.get(self.index as usize + 1);
        let end = next.map_or(tree.values.len(), |next| next.first_value as usize);
        let first = data.first_value as usize;
        (first..end).map(move |index| {
            let start = if index == first {
                data.name_end
            } else {
                tree.values[index - 1]
            };
            SgfValue::from_raw(&tree.text[start as usize..tree.values[index] as usize])
        })
    }

    /// The first value of the property, which is the only one of most properties.
    pub fn first(self) -> Option<SgfValue<'a>> {
        self.values().next()
    }

    /// Position of the property's name in the parsed text; the start of the text if it was not parsed.
    pub fn place(self) -> SgfPlace {
        self.tree.places[self.index as usize]
    }
}
