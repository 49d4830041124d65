import './virtual-list.css'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Rows above and below what is seen, so that a quick thumb finds no gap. */
const SPARE_ROWS = 6

interface VirtualListProps<Item> {
  items: readonly Item[]
  /** All rows have this height. */
  rowPx: number
  role?: 'table' | 'list'
  label: string
  header?: ComponentChildren
  keyOf: (item: Item) => string
  children: (item: Item, index: number) => ComponentChildren
}

/** A list of any length of which only what is seen is in the page. */
export function VirtualList<Item>({
  items,
  rowPx,
  role = 'list',
  label,
  header,
  keyOf,
  children,
}: VirtualListProps<Item>) {
  const ref = useRef<HTMLDivElement>(null)
  const [seen, setSeen] = useState({ from: 0, count: 20 })
  const look = () => {
    const element = ref.current
    if (element === null) return
    const from = Math.max(0, Math.floor(element.scrollTop / rowPx) - SPARE_ROWS)
    const count = Math.ceil(element.clientHeight / rowPx) + 2 * SPARE_ROWS
    setSeen((known) => (known.from === from && known.count === count ? known : { from, count }))
  }
  useLayoutEffect(() => {
    look()
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(look)
    observer.observe(element)
    return () => observer.disconnect()
  }, [rowPx])
  const from = Math.min(seen.from, Math.max(0, items.length - 1))
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both of its roles have a name
    <div
      ref={ref}
      class="virtual-list"
      role={role}
      aria-label={label}
      aria-rowcount={role === 'table' ? items.length : undefined}
      tabIndex={0}
      onScroll={look}
    >
      {header}
      <div role="presentation" class="virtual-space" style={{ height: `${items.length * rowPx}px` }}>
        <div
          role="presentation"
          class="virtual-window"
          style={{ transform: `translateY(${from * rowPx}px)` }}
        >
          {items.slice(from, from + seen.count).map((item, index) => (
            <div key={keyOf(item)} role="presentation" style={{ height: `${rowPx}px` }}>
              {children(item, from + index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}
