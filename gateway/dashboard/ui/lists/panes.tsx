import type { ComponentChildren } from 'preact'

interface PanesProps {
  list: ComponentChildren
  /** Chosen thing; null for none. */
  chosen: ComponentChildren | null
}

/** List on the left and its chosen thing on the right; a narrow screen shows one of them. */
export function Panes({ list, chosen }: PanesProps) {
  return (
    <div class={chosen === null ? 'panes' : 'panes two'}>
      <div class="pane">{list}</div>
      {chosen !== null && <div class="pane chosen">{chosen}</div>}
    </div>
  )
}
