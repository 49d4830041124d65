import type { Connection } from '../db/connection.ts'
import type { TableCare } from '../db/table.ts'
import { isUnreadable } from './unreadable.ts'

/** Damaged parts of a table: none, the table itself, or only the named indexes. */
export type DamagedParts = 'none' | 'all' | readonly string[]

interface IndexRow {
  name: string
  rootPage: number
}

/** Reads a whole table and its indexes; of a huge table only the indexes. Throws all errors of SQLite except damage. */
export function damagedParts(reading: Connection, table: string, size: TableCare['size']): DamagedParts {
  const indexes = reading.all<IndexRow>(
    "SELECT name, rootpage AS rootPage FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? ORDER BY rootpage",
    table,
  )
  if (size === 'huge') {
    const damaged = indexes.filter(({ name }) => !canReadIndex(reading, table, name))
    return damaged.length === 0 ? 'none' : damaged.map(({ name }) => name)
  }
  const problems = problemsOf(reading, table)
  if (problems === 'unreadable') return 'all'
  if (problems.length === 0) return 'none'
  const named = problems.map((problem) => indexOfProblem(problem, indexes))
  const known = named.filter((name) => name !== undefined)
  return known.length === named.length ? [...new Set(known)] : 'all'
}

function problemsOf(reading: Connection, table: string): string[] | 'unreadable' {
  try {
    const rows = reading.all<{ problem: string }>(`SELECT quick_check AS problem FROM pragma_quick_check('${table}')`)
    const lines = rows.flatMap(({ problem }) => problem.split('\n'))
    return lines.filter((line) => line !== 'ok' && !line.startsWith('*** in database'))
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable'
    throw error
  }
}

/** Returns the index that a line of SQLite's check names; undefined if the line concerns the table. */
function indexOfProblem(problem: string, indexes: readonly IndexRow[]): string | undefined {
  const [, root] = /^Tree (\d+) /.exec(problem) ?? []
  if (root !== undefined) return indexes.find(({ rootPage }) => rootPage === Number(root))?.name
  const [, name] = /index (\S+)$/.exec(problem) ?? []
  return indexes.find((index) => index.name === name)?.name
}

// reads every entry of the index and nothing of the table, because the index has all selected columns
function canReadIndex(reading: Connection, table: string, index: string): boolean {
  const columns = reading.all<{ name: string }>('SELECT name FROM pragma_index_info(?)', index)
  const sums = columns.map(({ name }) => `total(length(${name}))`).join(', ')
  try {
    reading.get(`SELECT ${sums} FROM ${table} INDEXED BY ${index} WHERE ${columns[0]?.name} IS NOT NULL`)
    return true
  } catch (error) {
    if (isUnreadable(error)) return false
    throw error
  }
}
