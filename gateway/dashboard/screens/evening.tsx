import './evening.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { BulkLock, type EveningGroups, groupEvening, type LockOutcome } from '#dashboard/live/fleet/evening.ts'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { eveningTexts } from '#dashboard/texts/evening.ts'
import { formatTime } from '#dashboard/texts/format.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpButton } from '#dashboard/ui/help-button.tsx'
import { Icon } from '#dashboard/ui/icons.tsx'
import { VirtualTable } from '#dashboard/ui/virtual-table.tsx'
import type { CartJson } from '#shared/wire/carts.ts'
import { CART_ROW_PX, CartRow } from './cart-row.tsx'

const GROUPS = ['open', 'out', 'notCharging', 'locked'] as const

/** Evening check: unlocked carts, carts that are still out, and one button that locks those in the barn. */
export function EveningScreen() {
  const { fleet, clock, second } = useDashboard()
  const texts = eveningTexts()
  const version = fleet.version.value
  const groups = useMemo(() => groupEvening(fleet.carts.values(), fleet.alerts.values()), [version])
  const bulk = useBulkLock()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const outcomeOf = ({ cart }: CartJson) => bulk.lock?.outcomes.get(cart)
  return (
    <div class="evening">
      <header class="evening-top">
        <h1>{texts.title}</h1>
        <span class="row">
          <button type="button" class="button" disabled={!fleet.isKnown} onClick={() => print()}>
            {texts.print}
          </button>
          <HelpButton screen="evening" title={texts.title} />
        </span>
      </header>
      <dl class="evening-counts">
        <Count count={groups.locked.length} name={texts.locked} />
        <Count count={groups.open.length} name={texts.open} isBad={groups.open.length > 0} />
        <Count count={groups.out.length} name={texts.out} isBad={groups.out.length > 0} />
        <Count count={groups.notCharging.length} name={texts.notCharging} isBad={groups.notCharging.length > 0} />
      </dl>
      <LockOpen groups={groups} bulk={bulk} />
      <div class="cart-table evening-table">
        <VirtualTable label={texts.list} items={[...groups.open, ...groups.out, ...groups.locked]} rowPx={CART_ROW_PX}>
          {(cart) => (
            <CartRow key={cart.cart} cart={cart} nowMs={nowMs}>
              {outcomeText(outcomeOf(cart))}
            </CartRow>
          )}
        </VirtualTable>
      </div>
      <Sheet groups={groups} />
    </div>
  )
}

function Count({ count, name, isBad = false }: { count: number; name: string; isBad?: boolean }) {
  const { fleet } = useDashboard()
  return (
    <div class={isBad ? 'evening-count bad' : 'evening-count'}>
      <dt>{name}</dt>
      <dd>{fleet.isKnown ? count : '–'}</dd>
    </div>
  )
}

type Bulk = ReturnType<typeof useBulkLock>

function LockOpen({ groups, bulk }: { groups: EveningGroups; bulk: Bulk }) {
  const texts = eveningTexts()
  const { line } = useDashboard()
  const isGone = line.state.value.kind !== 'live'
  return (
    <div class="evening-lock">
      <div role="status" class="evening-status">
        {bulk.message}
      </div>
      <button
        type="button"
        class="button main wide"
        disabled={groups.open.length === 0 || bulk.isSending || isGone}
        onClick={() => void bulk.send(groups.open.length)}
      >
        <Icon name="lock" />
        {texts.lockOpen}
      </button>
    </div>
  )
}

/** Runs one press of the button until every cart has responded. */
function useBulkLock() {
  const dashboard = useDashboard()
  const texts = eveningTexts()
  const [state, setState] = useState<{ lock: BulkLock | null; sending: number; isFailed: boolean }>({
    lock: null,
    sending: 0,
    isFailed: false,
  })
  const { lock, sending, isFailed } = state
  // subscribes to the fleet, from which the result is rendered
  if (dashboard.fleet.version.value >= 0) lock?.update(dashboard.fleet.carts)
  const stopListening = useRef<() => void>(() => undefined)
  useEffect(() => () => stopListening.current(), [])
  const send = async (count: number) => {
    const sent = new BulkLock()
    setState({ lock: null, sending: count, isFailed: false })
    try {
      const { results } = await dashboard.gate.act(() => {
        stopListening.current()
        // before the request: the first carts may acknowledge before its response arrives
        stopListening.current = dashboard.listen((message) => {
          if (sent.take(message)) setState((known) => ({ ...known }))
        })
        return dashboard.api.call('POST /carts/lock', { body: { carts: 'in' } })
      })
      sent.start(results)
      setState({ lock: sent, sending: 0, isFailed: false })
    } catch (error) {
      stopListening.current()
      // a cancelled PIN prompt is not a failure
      setState({ lock: null, sending: 0, isFailed: !(error instanceof PinCancelled) })
    }
  }
  return { lock, send, isSending: sending > 0, message: wordsOf(lock, sending, isFailed, texts) }
}

function wordsOf(
  lock: BulkLock | null,
  sending: number,
  isFailed: boolean,
  texts: ReturnType<typeof eveningTexts>,
): string {
  if (isFailed) return texts.failed
  if (sending > 0) return texts.sending(sending)
  if (lock === null) return ''
  return lock.outcomes.size === 0 ? texts.nothingOpen : texts.progress(lock.done, lock.outcomes.size)
}

function outcomeText(outcome: LockOutcome | undefined): string | undefined {
  if (outcome === undefined) return undefined
  const words: Readonly<Record<string, string>> = eveningTexts().outcomes
  return words[outcome] ?? words.failed
}

/** Printed version of the screen: all cart numbers on one page. */
function Sheet({ groups }: { groups: EveningGroups }) {
  const { clock, site } = useDashboard()
  const texts = eveningTexts()
  return (
    <section class="evening-sheet" aria-hidden="true">
      <h1 dir="auto">
        {texts.title} {site.value.name}
      </h1>
      <p>
        {texts.asOf(
          `${new Date(clock.nowMs()).toISOString().slice(0, 10)} ${formatTime(clock.nowMs(), site.value.time_zone)}`,
        )}
      </p>
      {GROUPS.map((name) => (
        <div key={name}>
          <h2>
            {texts.groups[name]}: {groups[name].length}
          </h2>
          <p dir="auto">{groups[name].map(({ cart }) => cart).join(', ') || texts.none}</p>
        </div>
      ))}
    </section>
  )
}
