import './cart-shape.css'
import { KIND_LETTERS, type MarkerStyle } from '#dashboard/live/fleet/marker-style.ts'

const OUTLINES: Record<MarkerStyle, string> = {
  out: 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
  in: 'M12 5h24a7 7 0 0 1 7 7v24a7 7 0 0 1-7 7H12a7 7 0 0 1-7-7V12a7 7 0 0 1 7-7Z',
  unlocked: 'M12 5h24a7 7 0 0 1 7 7v24a7 7 0 0 1-7 7H12a7 7 0 0 1-7-7V12a7 7 0 0 1 7-7Z',
  low: 'M24 3 46 42H2Z',
  outside: 'M24 1 47 24 24 47 1 24Z',
  silent: 'M24 4a20 20 0 1 0 0 40 20 20 0 0 0 0-40Z',
}
const BASELINE: Record<MarkerStyle, number> = { out: 30, in: 30, unlocked: 30, low: 36, outside: 30, silent: 30 }

/** Sign of a cart for lists, as on the map: the number in the shape of its state. Hidden from screen readers. */
export function CartShape({
  markerStyle,
  label,
  size = 48,
  kind = 'golf_cart',
}: {
  markerStyle: MarkerStyle
  label: string
  size?: number
  kind?: keyof typeof KIND_LETTERS
}) {
  const shown = [...label].length > 4 ? `${[...label].slice(0, 3).join('')}…` : label
  return (
    <svg
      class={`cart-shape ${markerStyle}`}
      width={`${size / 16}rem`}
      height={`${size / 16}rem`}
      viewBox="0 0 48 48"
      aria-hidden="true"
    >
      <path d={OUTLINES[markerStyle]} />
      <text x="24" y={BASELINE[markerStyle]} font-size={[...shown].length > 2 ? 14 : 18} text-anchor="middle">
        {shown}
      </text>
      {kind !== 'golf_cart' && (
        <g class="kind-badge">
          <rect x="1" y="32" width="15" height="15" />
          <text x="8.5" y="44" font-size="12" text-anchor="middle">
            {KIND_LETTERS[kind]}
          </text>
        </g>
      )}
    </svg>
  )
}
