import './virtual-list.css'
import type { ComponentChildren } from 'preact'
import { useSeenRows } from './visible-rows.ts'

interface VirtualTableProps<Item> {
  items: readonly Item[]
  rowPx: number
  label: string
  /** A `tr` of `th`, or nothing. */
  head?: ComponentChildren
  /** A `tr` with a key. */
  children: (item: Item) => ComponentChildren
}

/** Table of any length; only its visible rows are in the page. */
export function VirtualTable<Item>({ items, rowPx, label, head, children }: VirtualTableProps<Item>) {
  const { ref, onScroll, from, count } = useSeenRows(items.length, rowPx)
  const rest = Math.max(0, items.length - from - count)
  // the head sticks to the top, because the table begins above the visible rows
  const space = { marginTop: `${from * rowPx}px`, marginBottom: `${rest * rowPx}px` }
  return (
    <div ref={ref} class="virtual-list" onScroll={onScroll}>
      <table class="virtual-table" aria-label={label} aria-rowcount={items.length} style={space}>
        {head !== undefined && <thead>{head}</thead>}
        <tbody>{items.slice(from, from + count).map(children)}</tbody>
      </table>
    </div>
  )
}
