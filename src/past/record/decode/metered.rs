//! Charges the memory of values while they are decoded.
//!
//! An inline value is charged with its container, by the size of its type. A value in memory of its
//! own is charged separately: the elements of a list, the entries of a map, and the content of a
//! box, which is recognized because it does not fit into its place. The bytes of texts are charged
//! where the decoder reads them from its stream.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::DecodeBudget;

/// The most bytes for which serde reserves room at once for announced elements. A longer list
/// doubles its room as it grows.
const MAX_PREPARED: u64 = 1 << 20;

/// A map keeps free room, most of all right after it grew.
const MAP_FACTOR: u64 = 2;

/// The extra memory of an element in a set. Sets cannot be told from lists, so all lists count as
/// sets, except those of small elements such as bytes.
const ELEMENT_OVERHEAD: u64 = 8;

const MIN_SET_ELEMENT: u64 = 8;

/// The extra memory of a list or a map: the rounding of the allocator, and the smallest room of a
/// map.
const LIST_OVERHEAD: u64 = 16;

const MAP_OVERHEAD: u64 = 64;

/// Wraps a deserializer or access, and charges the decoded values.
pub struct Metered<'b, D> {
    inner: D,
    budget: &'b DecodeBudget,
}

impl<'b, D> Metered<'b, D> {
    pub fn new(inner: D, budget: &'b DecodeBudget) -> Self {
        Self { inner, budget }
    }

    fn seed<S>(&self, seed: S) -> Seed<'b, S> {
        Seed { seed, budget: self.budget }
    }
}

/// Deserializes with a method of the inner deserializer, and records the size of the value.
macro_rules! make {
    ($self:ident, $visitor:ident, $place:expr, $method:ident ( $($argument:expr),* )) => {{
        let Metered { inner, budget } = $self;
        let before = budget.inline();
        let made = inner.$method($($argument,)* Visit { visitor: $visitor, budget, place: $place })?;
        budget.put_inline(before, size_of::<V::Value>());
        Ok(made)
    }};
}

macro_rules! deserialize {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            make!(self, visitor, Storage::Within, $method())
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Metered<'_, D> {
    type Error = D::Error;

    deserialize! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_option deserialize_unit deserialize_identifier
        deserialize_ignored_any
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Apart, deserialize_seq())
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Apart, deserialize_map())
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Within, deserialize_unit_struct(name))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Within, deserialize_newtype_struct(name))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Within, deserialize_tuple(len))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Within, deserialize_tuple_struct(name, len))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Within, deserialize_struct(name, fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        make!(self, visitor, Storage::Within, deserialize_enum(name, variants))
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Where the parts of a value are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// Inline: fields.
    Within,
    /// In memory of their own: elements and entries.
    Apart,
}

/// Passes on the values of the inner deserializer.
struct Visit<'b, V> {
    visitor: V,
    budget: &'b DecodeBudget,
    place: Storage,
}

macro_rules! visit {
    ($($method:ident: $type:ty,)*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.visitor.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Visit<'_, V> {
    type Value = V::Value;

    visit! {
        visit_bool: bool, visit_i8: i8, visit_i16: i16, visit_i32: i32, visit_i64: i64, visit_i128: i128, visit_u8: u8, visit_u16: u16,
        visit_u32: u32, visit_u64: u64, visit_u128: u128, visit_f32: f32, visit_f64: f64, visit_char: char, visit_str: &str,
        visit_borrowed_str: &'de str, visit_string: String, visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    }

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(formatter)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Metered::new(inner, self.budget))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Metered::new(inner, self.budget))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let Self { visitor, budget, place } = self;
        if place == Storage::Within {
            return visitor.visit_seq(Metered::new(inner, budget));
        }
        charge(budget, LIST_OVERHEAD)?;
        visitor.visit_seq(Elements { inner, budget, bytes: 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        charge(self.budget, MAP_OVERHEAD)?;
        self.visitor.visit_map(Entries { inner, budget: self.budget, before: 0, key: 0 })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(Metered::new(inner, self.budget))
    }
}

struct Seed<'b, S> {
    seed: S,
    budget: &'b DecodeBudget,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.seed.deserialize(Metered::new(inner, self.budget))
    }
}

/// The fields of a value.
impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Metered<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.seed(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The elements of a list.
struct Elements<'b, A> {
    inner: A,
    budget: &'b DecodeBudget,
    /// The memory of all elements so far, in bytes.
    bytes: u64,
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let before = self.budget.inline();
        let element = self.inner.next_element_seed(Seed { seed, budget: self.budget })?;
        if element.is_some() {
            let mut size = self.budget.take_apart(before, size_of::<S::Value>());
            if size >= MIN_SET_ELEMENT {
                size += ELEMENT_OVERHEAD;
            }
            self.bytes = self.bytes.saturating_add(size);
            charge(self.budget, if self.bytes > MAX_PREPARED { size.saturating_mul(2) } else { size })?;
        }
        Ok(element)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// The entries of a map.
struct Entries<'b, A> {
    inner: A,
    budget: &'b DecodeBudget,
    /// The inline size of the value under construction before the entry.
    before: usize,
    /// The size of the entry's key.
    key: usize,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        (self.before, self.key) = (self.budget.inline(), size_of::<S::Value>());
        self.inner.next_key_seed(Seed { seed, budget: self.budget })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.inner.next_value_seed(Seed { seed, budget: self.budget })?;
        let size = self.budget.take_apart(self.before, self.key + size_of::<S::Value>());
        charge(self.budget, size.saturating_mul(MAP_FACTOR))?;
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'b, A: EnumAccess<'de>> EnumAccess<'de> for Metered<'b, A> {
    type Error = A::Error;
    type Variant = Metered<'b, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (variant, inner) = self.inner.variant_seed(seed)?;
        Ok((variant, Metered::new(inner, self.budget)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Metered<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.seed(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        make!(self, visitor, Storage::Within, tuple_variant(len))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        make!(self, visitor, Storage::Within, struct_variant(fields))
    }
}

fn charge<E: Error>(budget: &DecodeBudget, bytes: u64) -> Result<(), E> {
    if budget.charge(bytes) { Ok(()) } else { Err(E::custom("it takes more memory than it may")) }
}
