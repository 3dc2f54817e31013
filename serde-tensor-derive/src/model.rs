//! The type as one of the two derives sees it.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{DeriveInput, ExprPath, GenericParam, Generics, Member, Path, Type, WherePredicate};

use crate::direction::Direction;
use crate::errors::Errors;
use crate::parse::{Attributes, ContainerMark, FieldMark, refuse_on_variant};
use crate::types;

/// A type that derives.
pub(crate) struct Container<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) direction: Direction,
    /// The type's parameters, without their defaults.
    pub(crate) generics: Generics,
    pub(crate) serde: Attributes,
    /// `#[tensor(crate = "…")]`.
    pub(crate) krate: Option<Path>,
    /// `#[tensor(bound(…))]` for this direction.
    pub(crate) bound: Option<Vec<WherePredicate>>,
    /// `#[repr(packed)]`, whose fields cannot be borrowed.
    pub(crate) packed: bool,
    pub(crate) data: Data,
}

/// What a type consists of.
pub(crate) enum Data {
    Struct(Fields),
    Enum(Vec<Variant>),
    /// Not supported; there to be reported.
    Union,
}

/// A variant of an enum.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) serde: Attributes,
    pub(crate) skipped: bool,
    pub(crate) fields: Fields,
}

/// The fields of a struct or a variant.
pub(crate) struct Fields {
    pub(crate) style: Style,
    pub(crate) list: Vec<Field>,
}

/// How fields are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Named,
    Tuple,
    Unit,
}

/// A field.
pub(crate) struct Field {
    /// Its place among all fields of the type; names what is emitted for it.
    pub(crate) index: usize,
    pub(crate) member: Member,
    pub(crate) ty: Type,
    pub(crate) serde: Attributes,
    pub(crate) mark: FieldMark,
    /// Whether it, or its variant, is left out in this direction.
    pub(crate) skipped: bool,
    /// Whether a function of the user's writes or reads it, or its whole variant.
    pub(crate) by_function: bool,
    /// `skip_serializing_if`, where serde heeds it.
    pub(crate) skip_if: Option<ExprPath>,
    /// `Policy` or `Action::Move`: where it is, for messages.
    pub(crate) owner: String,
}

impl<'a> Container<'a> {
    /// Reads the type, for one direction.
    pub(crate) fn new(input: &'a DeriveInput, direction: Direction, errors: &mut Errors) -> Self {
        let mark = ContainerMark::new(&input.attrs, direction, errors);
        let serde = Attributes::new(&input.attrs);
        let mut read = Reader {
            direction,
            transparent: serde.has("transparent"),
            owner: input.ident.unraw().to_string(),
            count: 0,
            errors,
        };
        let data = match &input.data {
            syn::Data::Struct(data) => Data::Struct(read.fields(&data.fields, None)),
            syn::Data::Enum(data) => Data::Enum(data.variants.iter().map(|variant| read.variant(variant)).collect()),
            syn::Data::Union(_) => Data::Union,
        };
        Self {
            input,
            direction,
            generics: without_defaults(&input.generics),
            serde,
            krate: mark.krate,
            bound: mark.bound,
            packed: is_packed(input),
            data,
        }
    }

    /// The path of the library.
    pub(crate) fn krate(&self) -> TokenStream {
        let given = self.krate.as_ref().map(ToTokens::to_token_stream);
        given.unwrap_or_else(|| quote!(::serde_tensor))
    }

    /// The path of the library's private module.
    pub(crate) fn private(&self) -> TokenStream {
        let krate = self.krate();
        quote!(#krate::__private)
    }

    /// All fields, of every variant.
    pub(crate) fn fields(&self) -> Vec<&Field> {
        match &self.data {
            Data::Struct(fields) => fields.list.iter().collect(),
            Data::Enum(variants) => variants.iter().flat_map(|variant| &variant.fields.list).collect(),
            Data::Union => Vec::new(),
        }
    }

    /// Whether serde converts the value to or from another type, and leaves the fields alone.
    pub(crate) fn converts(&self) -> bool {
        match self.direction {
            Direction::Serialize => self.serde.has("into"),
            Direction::Deserialize => self.serde.has("from") || self.serde.has("try_from"),
        }
    }

    /// Whether the variants are tagged with `tag` and `content`.
    pub(crate) fn adjacently_tagged(&self) -> bool {
        self.serde.has("tag") && self.serde.has("content")
    }
}

impl Field {
    /// Whether the field is read or written as one that holds tensors.
    pub(crate) fn marked(&self) -> bool {
        matches!(self.mark, FieldMark::Tensor(_)) && !self.skipped
    }

    /// Whether serde alone reads or writes it, with nothing said about tensors.
    pub(crate) fn unmarked(&self) -> bool {
        matches!(self.mark, FieldMark::Unmarked) && !self.skipped && !self.by_function
    }

    /// The name of the adapter that serde calls for a marked field.
    pub(crate) fn adapter(&self) -> Ident {
        format_ident!("__Field{}", self.index)
    }

    /// The name of the field's static cell.
    pub(crate) fn site(&self) -> Ident {
        format_ident!("__SITE{}", self.index)
    }

    /// The name that a pattern binds it to.
    pub(crate) fn binding(&self) -> Ident {
        format_ident!("__field{}", self.index)
    }

    /// Its name as a user reads it.
    pub(crate) fn name(&self) -> String {
        match &self.member {
            Member::Named(ident) => ident.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }

    /// Whether serde would take a missing field for `None`, if it were not marked.
    pub(crate) fn optional(&self) -> bool {
        types::option(&self.ty).is_some() && !self.serde.has("default") && !self.serde.has("flatten")
    }
}

struct Reader<'e> {
    direction: Direction,
    transparent: bool,
    owner: String,
    count: usize,
    errors: &'e mut Errors,
}

impl Reader<'_> {
    fn variant(&mut self, variant: &syn::Variant) -> Variant {
        refuse_on_variant(&variant.attrs, self.errors);
        let serde = Attributes::new(&variant.attrs);
        let owner = format!("{}::{}", self.owner, variant.ident.unraw());
        let outer = std::mem::replace(&mut self.owner, owner);
        let fields = self.fields(&variant.fields, Some(&serde));
        self.owner = outer;
        Variant {
            ident: variant.ident.clone(),
            skipped: serde.skips(self.direction),
            serde,
            fields,
        }
    }

    fn fields(&mut self, fields: &syn::Fields, variant: Option<&Attributes>) -> Fields {
        let style = match fields {
            syn::Fields::Named(_) => Style::Named,
            syn::Fields::Unnamed(_) => Style::Tuple,
            syn::Fields::Unit => Style::Unit,
        };
        let mut list: Vec<_> = fields
            .members()
            .zip(fields)
            .map(|(member, field)| self.field(member, field, variant))
            .collect();
        // Serde passes over it where the field is all there is.
        if let [newtype] = &mut list[..]
            && style == Style::Tuple
        {
            newtype.skip_if = None;
        }
        Fields { style, list }
    }

    fn field(&mut self, member: Member, field: &syn::Field, variant: Option<&Attributes>) -> Field {
        let serde = Attributes::new(&field.attrs);
        let index = self.count;
        self.count += 1;
        let either = |ask: &dyn Fn(&Attributes) -> bool| ask(&serde) || variant.is_some_and(ask);
        Field {
            index,
            member,
            ty: field.ty.clone(),
            mark: FieldMark::new(&field.attrs, self.errors),
            skipped: either(&|attributes| attributes.skips(self.direction)),
            by_function: either(&|attributes| attributes.with(self.direction).is_some()),
            skip_if: self.skip_if(&serde),
            serde,
            owner: self.owner.clone(),
        }
    }

    fn skip_if(&self, field: &Attributes) -> Option<ExprPath> {
        let text = field.find("skip_serializing_if")?.text()?;
        // A path that cannot be read is reported by serde.
        if self.transparent { None } else { text.parse().ok() }
    }
}

fn without_defaults(generics: &Generics) -> Generics {
    let mut generics = generics.clone();
    for param in &mut generics.params {
        match param {
            GenericParam::Type(param) => param.default = None,
            GenericParam::Const(param) => param.default = None,
            GenericParam::Lifetime(_) => {}
        }
    }
    generics
}

fn is_packed(input: &DeriveInput) -> bool {
    input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("repr"))
        .any(|attribute| attribute.meta.to_token_stream().to_string().contains("packed"))
}
