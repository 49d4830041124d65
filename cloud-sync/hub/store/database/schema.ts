import { readProgramFile } from '#shared/program-files.ts'
import type { Sql } from './database.ts'
import { codeOf, withRetries } from './faults.ts'

/** Version of the schema of this program; a later one adds statements and raises it. */
export const SCHEMA_VERSION = 7

/** Statements that upgrade the tables of an earlier version; each may run again. */
const UPGRADES = [
  'ALTER TABLE event ADD COLUMN IF NOT EXISTS seq BIGINT',
  'ALTER TABLE site_latest ADD COLUMN IF NOT EXISTS restored_at_ms BIGINT',
  'ALTER TABLE hub_user ADD COLUMN IF NOT EXISTS mask_codes BOOLEAN NOT NULL DEFAULT FALSE',
  'ALTER TABLE audit_entry ALTER COLUMN body DROP NOT NULL',
  'ALTER TABLE audit_entry ADD COLUMN IF NOT EXISTS row_sum TEXT',
  'ALTER TABLE site ADD COLUMN IF NOT EXISTS reported_ms BIGINT',
  'ALTER TABLE site ADD COLUMN IF NOT EXISTS unconfirmed_rows BIGINT',
  'ALTER TABLE site ADD COLUMN IF NOT EXISTS stored_bytes BIGINT NOT NULL DEFAULT 0',
  'ALTER TABLE site ADD COLUMN IF NOT EXISTS counted_bytes BIGINT NOT NULL DEFAULT 0',
  'ALTER TABLE site ADD COLUMN IF NOT EXISTS counted_at_ms BIGINT NOT NULL DEFAULT 0',
  'ALTER TABLE site_latest ADD COLUMN IF NOT EXISTS cart_said TEXT',
  'ALTER TABLE site ADD COLUMN IF NOT EXISTS intents_sent BIGINT NOT NULL DEFAULT 0',
]

/** Returns the statements of `schema.sql`, in order. */
export function schemaStatements(): string[] {
  const text = readProgramFile('cloud-sync/hub/store/database/schema.sql').toString()
  return text
    .split(/;[ \t]*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** Errors when two hubs create a table concurrently: IF NOT EXISTS checks before creating, so one can still fail. */
const CREATED_AT_ONCE = new Set(['23505', '42P07', '42710', 'XX000', '40001', '40P01'])

/** Creates missing tables, columns and indexes; hubs may do so concurrently. Throws for a later version's schema. */
export async function createSchema(sql: Sql): Promise<void> {
  for (const statement of schemaStatements()) await runOnce(sql, statement)
  const found = await sql.get<{ version: number | null }>('SELECT MAX(version) AS version FROM hub_schema_version')
  const version = found?.version ?? 0
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `the database has tables of version ${version}; this hub knows versions up to ${SCHEMA_VERSION}: run the ` +
        'newer hub',
    )
  }
  if (version < SCHEMA_VERSION) {
    for (const statement of UPGRADES) await runOnce(sql, statement)
    await sql.run('INSERT INTO hub_schema_version (version) VALUES ($1) ON CONFLICT DO NOTHING', [SCHEMA_VERSION])
  }
}

function runOnce(sql: Sql, statement: string): Promise<number> {
  return withRetries(
    () => sql.run(statement),
    (error) => CREATED_AT_ONCE.has(codeOf(error) ?? ''),
  )
}

/** Returns the tables of `schema.sql`, in order. */
export function schemaTables(): string[] {
  return schemaStatements().flatMap((statement) => {
    const name = /^CREATE TABLE IF NOT EXISTS (\w+)/m.exec(statement)?.[1]
    return name === undefined ? [] : [name]
  })
}

/** Tables without a site: every node of a cluster has a full copy. */
const REFERENCE_TABLES = ['hub_user', 'hub_schema_version']

/** Returns the SQL that distributes the tables of a new database over the nodes of a Citus cluster, by site. */
export function citusStatements(): string[] {
  return schemaTables().map((table) =>
    REFERENCE_TABLES.includes(table)
      ? `SELECT create_reference_table('${table}');\n`
      : `SELECT create_distributed_table('${table}', ` +
        `'site_id'${table === 'site' ? '' : ", colocate_with => 'site'"});\n`,
  )
}
