import './side-panel.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { mapTexts } from '#dashboard/texts/map.ts'

const SIZES = ['low', 'half', 'full'] as const
type Size = (typeof SIZES)[number]

/** Maximum movement of a finger that counts as a tap and not as a drag. */
const DRAG_PX = 24

interface SidePanelProps {
  /** Chosen cart, whose card must not open below the edge of the screen. */
  opened: string | null
  children: ComponentChildren
}

/** Panel next to the map; on a phone a sheet at the lower edge, whose handle is dragged up and down or tapped. */
export function SidePanel({ opened, children }: SidePanelProps) {
  const texts = mapTexts()
  const [size, setSize] = useState<Size>('half')
  const from = useRef<number | null>(null)
  const wasDragged = useRef(false)
  useEffect(() => {
    if (opened !== null) setSize((known) => (known === 'low' ? 'half' : known))
  }, [opened])
  const drag = ({ clientY }: PointerEvent) => {
    if (from.current === null) return
    const moved = from.current - clientY
    if (Math.abs(moved) < DRAG_PX) return
    from.current = null
    wasDragged.current = true
    setSize((known) => SIZES[SIZES.indexOf(known) + Math.sign(moved)] ?? known)
  }
  return (
    <aside class={`side-panel ${size}`} aria-label={texts.side}>
      <button
        type="button"
        class="side-handle"
        aria-expanded={size === 'full'}
        aria-label={size === 'full' ? texts.less : texts.more}
        onPointerDown={(event) => {
          from.current = event.clientY
          wasDragged.current = false
          event.currentTarget.setPointerCapture(event.pointerId)
        }}
        onPointerMove={drag}
        onPointerUp={() => {
          from.current = null
        }}
        onClick={() => {
          if (!wasDragged.current) setSize(size === 'full' ? 'half' : 'full')
          wasDragged.current = false
        }}
      >
        <span />
      </button>
      <div class="side-content">{children}</div>
    </aside>
  )
}
