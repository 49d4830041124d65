import './table.css'
import '../virtual-list.css'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { useAddress } from '../use-address.ts'
import { useSeenRows } from '../visible-rows.ts'

export interface Column<Item> {
  /** Name in the address. */
  key: string
  title: string
  cell: (item: Item) => ComponentChildren
  /** Order of the column; without it, the column does not sort. */
  compare?: (a: Item, b: Item) => number
  /** `wide` is left out where the table is narrow, `number` is aligned to the right. */
  is?: 'wide' | 'number'
}

interface TableProps<Item> {
  label: string
  /** In the order that applies until a column is chosen. */
  items: readonly Item[]
  columns: readonly Column<Item>[]
  keyOf: (item: Item) => string
  /** Name of a row for screen readers. */
  nameOf?: (item: Item) => string
  chosen?: string | null
  /** Height of a row at the normal text size. */
  rowPx?: number
}

/** Table of any length; only its visible rows are in the page, and all of them on paper. Its heads sort it. */
export function Table<Item>(props: TableProps<Item>) {
  const { label, items, columns, keyOf, nameOf, chosen = null, rowPx: normalPx = 64 } = props
  const [sort, setSort] = useAddress('sort')
  const sorted = useMemo(() => inOrder(items, columns, sort), [items, sort])
  const { ref, onScroll, from, count, rowPx } = useSeenRows(sorted.length, normalPx)
  const rest = Math.max(0, sorted.length - from - count)
  // the head sticks to the top, because the table begins above the visible rows
  const space = { marginTop: `${from * rowPx}px`, marginBottom: `${rest * rowPx}px`, '--row': `${rowPx}px` }
  return (
    <div ref={ref} class="virtual-list" onScroll={onScroll}>
      <table class="table" aria-label={label} aria-rowcount={sorted.length} style={space}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} onSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(from, from + count).map((item) => (
            <tr
              key={keyOf(item)}
              aria-label={nameOf?.(item)}
              aria-current={keyOf(item) === chosen ? 'true' : undefined}
            >
              {columns.map(({ key, is, cell }) => (
                <td key={key} class={is}>
                  {cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface HeadProps<Item> {
  column: Column<Item>
  sort: string
  onSort: (sort: string) => void
}

/** Head of a column: a tap sorts by it, the next one reverses the order, the third restores the usual one. */
function Head<Item>({ column: { key, title, compare, is }, sort, onSort }: HeadProps<Item>) {
  if (compare === undefined)
    return (
      <th scope="col" class={is}>
        {title}
      </th>
    )
  const order = sort === key ? 'ascending' : sort === `-${key}` ? 'descending' : undefined
  const next = order === undefined ? key : order === 'ascending' ? `-${key}` : ''
  return (
    <th scope="col" class={is} aria-sort={order}>
      <button type="button" class="bare" onClick={() => onSort(next)}>
        {title}
        <span aria-hidden="true">{order === undefined ? '' : order === 'ascending' ? ' ↑' : ' ↓'}</span>
      </button>
    </th>
  )
}

function inOrder<Item>(items: readonly Item[], columns: readonly Column<Item>[], sort: string): readonly Item[] {
  const compare = columns.find(({ key }) => key === sort.replace(/^-/, ''))?.compare
  if (compare === undefined) return items
  const sign = sort.startsWith('-') ? -1 : 1
  return items.toSorted((a, b) => sign * compare(a, b))
}
