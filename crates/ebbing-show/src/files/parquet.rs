//! Parquet with the settings in the file's key-value metadata.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use serde_json::json;

use crate::error::{Error, Result};
use crate::metadata::Metadata;
use crate::table::{FileColumn, FileValues, Table};
use crate::text::Rich;

fn schema(columns: &[FileColumn]) -> Result<Type, ParquetError> {
    let mut fields: Vec<TypePtr> = Vec::new();
    for c in columns {
        let (physical, logical) = match c.values {
            FileValues::Numbers(_) => (PhysicalType::DOUBLE, None),
            FileValues::Integers(_) => (PhysicalType::INT64, None),
            FileValues::Texts(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let field = Type::primitive_type_builder(&c.key, physical);
        fields.push(Arc::new(field.with_repetition(Repetition::REQUIRED).with_logical_type(logical).build()?));
    }
    Type::group_type_builder("table").with_fields(fields).build()
}

fn properties(table: &Table, columns: &[FileColumn], metadata: &Metadata) -> WriterProperties {
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let mut pairs: Vec<KeyValue> = metadata.entries().into_iter().map(|(k, v)| pair(k, v)).collect();
    pairs.push(pair("table", Rich::parse(&table.title).plain()));
    let described = columns.iter().map(|c| json!({"name": c.key, "unit": c.unit, "meaning": c.meaning}));
    pairs.push(pair("columns", serde_json::Value::Array(described.collect()).to_string()));
    WriterProperties::builder()
        .set_created_by(format!("{} {}", metadata.program, metadata.version))
        .set_key_value_metadata(Some(pairs))
        .build()
}

fn encode(table: &Table, columns: &[FileColumn], metadata: &Metadata) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::new();
    let properties = Arc::new(properties(table, columns, metadata));
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema(columns)?), properties)?;
    let mut group = writer.next_row_group()?;
    for c in columns {
        let Some(mut column) = group.next_column()? else { break };
        match c.values {
            FileValues::Numbers(v) => column.typed::<DoubleType>().write_batch(v, None, None)?,
            FileValues::Integers(v) => column.typed::<Int64Type>().write_batch(v, None, None)?,
            FileValues::Texts(v) => {
                let texts: Vec<ByteArray> = v.iter().map(|t| Rich::parse(t).plain().into_bytes().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, None, None)?
            }
        };
        column.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

/// Writes a table as Parquet: DOUBLE, INT64 and UTF-8 columns, uncompressed.
///
/// # Errors
/// When the table is not sound, has no columns, or the file cannot be written.
pub fn write_parquet(path: &Path, table: &Table, metadata: &Metadata) -> Result<()> {
    let columns = table.file_columns()?;
    if columns.is_empty() {
        return Err(Error::shape(format!("table \"{}\"", table.title), "has no columns to write"));
    }
    let bytes = encode(table, &columns, metadata).map_err(|e| Error::format(path, e))?;
    Ok(ebbing::data::write_atomic(path, &bytes)?)
}
