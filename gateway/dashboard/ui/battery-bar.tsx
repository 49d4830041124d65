import './battery-bar.css'

const LOW_PERCENT = 15

/** Battery level as a bar without text: the voltage is next to it. Empty while the battery is unknown. */
export function BatteryBar({ percent, isLow }: { percent: number | null; isLow: boolean }) {
  if (percent === null) return null
  return (
    <svg class="battery-bar" width="4.75rem" height="1.125rem" viewBox="0 0 76 18" aria-hidden="true">
      <rect x="1" y="1" width="74" height="16" rx="6" class="battery-edge" />
      <rect
        x="4"
        y="4"
        height="10"
        rx="3"
        width={Math.max(3, (68 * percent) / 100)}
        class={isLow || percent <= LOW_PERCENT ? 'battery-low' : 'battery-full'}
      />
    </svg>
  )
}
