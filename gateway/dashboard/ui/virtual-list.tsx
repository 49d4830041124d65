import './virtual-list.css'
import type { ComponentChildren } from 'preact'
import { useSeenRows } from './visible-rows.ts'

interface VirtualListProps<Item> {
  items: readonly Item[]
  /** Height of a row at the normal text size. */
  rowPx: number
  label: string
  keyOf: (item: Item) => string
  children: (item: Item, index: number) => ComponentChildren
}

/** List of any length; only its visible rows are in the page. */
export function VirtualList<Item>({ items, rowPx: normalPx, label, keyOf, children }: VirtualListProps<Item>) {
  const { ref, onScroll, from, count, rowPx } = useSeenRows(items.length, normalPx)
  return (
    <div ref={ref} class="virtual-list" onScroll={onScroll}>
      <ul aria-label={label} class="virtual-rows" style={{ height: `${items.length * rowPx}px` }}>
        {items.slice(from, from + count).map((item, index) => (
          <li
            key={keyOf(item)}
            class="virtual-row"
            style={{ top: `${(from + index) * rowPx}px`, height: `${rowPx}px` }}
          >
            {children(item, from + index)}
          </li>
        ))}
      </ul>
    </div>
  )
}
