import type { SummaryJson } from '#shared/wire/reports.ts'
import { csvHeader, csvLines } from './csv-lines.ts'

interface SummaryRow {
  section: string
  name: string
  value: string | number | boolean | null
}

const COLUMNS = ['section', 'name', 'value'].map((name) => ({ name, path: [name] }))

/** Name of the file of a day or month, without an extension. */
export function summaryFile(period: string): string {
  return `cartbarn-${period}`
}

/** Table of a summary, a line for each value; a list has a line for each cart or kind. */
export function summaryCsv(summary: { date?: string; month?: string } & SummaryJson): string {
  return csvHeader(COLUMNS) + csvLines(COLUMNS, Object.entries(summary).flatMap(rowsOf))
}

function rowsOf([section, value]: [string, SummaryJson[keyof SummaryJson]]): SummaryRow[] {
  if (typeof value !== 'object') return [{ section, name: '', value }]
  if (!Array.isArray(value)) return Object.entries(value).map(([name, one]) => ({ section, name, value: one }))
  return value.map((one) => {
    if (typeof one === 'string') return { section, name: one, value: null }
    return 'kind' in one ? { section, name: one.kind, value: one.count } : { section, name: one.cart, value: one.name }
  })
}
