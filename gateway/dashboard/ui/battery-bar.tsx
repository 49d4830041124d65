import './battery-bar.css'

const LOW_PERCENT = 15

/** How full a pack is, without a word: the voltage stands beside it. */
export function BatteryBar({ percent, isLow }: { percent: number | null; isLow: boolean }) {
  const shown = percent ?? 0
  return (
    <svg class="battery-bar" width="100" height="18" viewBox="0 0 100 18" aria-hidden="true">
      <rect x="1" y="1" width="98" height="16" rx="6" class="battery-edge" />
      {percent !== null && (
        <rect
          x="4"
          y="4"
          height="10"
          rx="3"
          width={Math.max(3, (92 * shown) / 100)}
          class={isLow || shown <= LOW_PERCENT ? 'battery-low' : 'battery-full'}
        />
      )}
    </svg>
  )
}
