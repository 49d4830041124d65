import { openReader } from './connection.ts'

/** Row counts of a database that support may see, and the values that it must not see. */
export interface TableCounts {
  rows: Record<string, number>
  /** Names of people and their notification addresses, to be removed from texts. */
  private: string[]
}

const PRIVATE = `
  SELECT name AS text FROM user UNION SELECT email FROM user UNION SELECT recipient FROM notifier
  UNION SELECT token FROM notifier UNION SELECT url FROM webhook UNION SELECT secret FROM webhook
  ORDER BY 1 LIMIT 100000`

/** Counts the rows of each table while the gateway runs: opening the database of a killed one would change its log. */
export function countTables(path: string): TableCounts {
  const reader = openReader(path)
  try {
    const tables = reader.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name LIMIT 1000",
    )
    const count = (name: string) =>
      // a name of the schema itself
      reader.get<{ n: number }>(`SELECT count(*) AS n FROM "${name.replaceAll('"', '""')}"`)?.n ?? 0
    return {
      rows: Object.fromEntries(tables.map(({ name }) => [name, count(name)])),
      private: reader.all<{ text: string | null }>(PRIVATE).flatMap(({ text }) => (text === null ? [] : [text])),
    }
  } finally {
    reader.close()
  }
}
