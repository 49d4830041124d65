import { schemaStatements } from './schema.ts'

/** Tables that belong to no site: every node of a cluster has all of them. */
const REFERENCE_TABLES = ['hub_user', 'hub_schema_version']

/** What spreads the tables of a new database over the nodes of a Citus cluster, by site. */
export function citusStatements(): string[] {
  const tables = schemaStatements().flatMap((statement) => {
    const name = /^CREATE TABLE IF NOT EXISTS (\w+)/m.exec(statement)?.[1]
    return name === undefined ? [] : [name]
  })
  return tables.map((table) =>
    REFERENCE_TABLES.includes(table)
      ? `SELECT create_reference_table('${table}');\n`
      : `SELECT create_distributed_table('${table}', 'site_id'${table === 'site' ? '' : ", colocate_with => 'site'"});\n`,
  )
}
