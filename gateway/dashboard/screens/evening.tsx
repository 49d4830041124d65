import '#dashboard/ui/pages.css'
import './evening.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { BulkLock, type EveningGroups, groupEvening, type LockOutcome } from '#dashboard/live/fleet/evening.ts'
import { isEveningNear } from '#dashboard/live/fleet/evening-near.ts'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { toHash } from '#dashboard/live/route.ts'
import { eveningTexts } from '#dashboard/texts/evening.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { HelpButton } from '#dashboard/ui/help-button.tsx'
import { Table } from '#dashboard/ui/lists/table.tsx'
import type { CartJson } from '#shared/wire/carts.ts'
import { useCartColumns } from './cart-columns.tsx'

/** Evening check: unlocked carts, carts that are still out, and one button that locks those in the barn. */
export function EveningScreen() {
  const { fleet, clock, settings } = useDashboard()
  const texts = eveningTexts()
  const isDue = isEveningNear(settings.value, clock.nowMs())
  const version = fleet.version.value
  const groups = useMemo(() => groupEvening(fleet.carts.values(), fleet.alerts.values()), [version])
  const bulk = useBulkLock()
  const columns = useCartColumns((cart) => toHash('map', cart))
  const outcomeOf = ({ cart }: CartJson) => outcomeText(bulk.lock?.outcomes.get(cart))
  const outcome = { key: 'outcome', title: texts.lockOpen, cell: outcomeOf }
  const withOutcome = [...columns.slice(0, -1), outcome]
  return (
    <div class="screen-column">
      <header class="bar">
        <h1 class="grow">{texts.title}</h1>
        <Button text={texts.print} disabled={!fleet.isKnown} onClick={() => print()} />
        <HelpButton screen="evening" title={texts.title} />
      </header>
      <dl class="evening-counts">
        <Count count={groups.locked.length} name={texts.locked} />
        <Count count={groups.open.length} name={texts.open} isDue={isDue} />
        <Count count={groups.out.length} name={texts.out} isDue={isDue} />
        <Count count={groups.notCharging.length} name={texts.notCharging} isDue={isDue} />
      </dl>
      <LockOpen groups={groups} bulk={bulk} />
      <Table
        label={texts.list}
        items={[...groups.open, ...groups.out, ...groups.locked]}
        columns={bulk.lock === null ? columns : withOutcome}
        keyOf={({ cart }) => cart}
        nameOf={({ cart }) => fleetTexts().cart(cart)}
      />
    </div>
  )
}

function Count({ count, name, isDue = false }: { count: number; name: string; isDue?: boolean }) {
  const { fleet } = useDashboard()
  return (
    <div class={isDue && count > 0 ? 'panel evening-count due' : 'panel evening-count'}>
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
    <div class="evening-lock not-printed">
      <div role="status" class="evening-status">
        {bulk.message}
      </div>
      <Button
        icon="lock"
        text={texts.lockOpen}
        is="main wide"
        disabled={groups.open.length === 0 || bulk.isSending || isGone}
        onClick={() => void bulk.send(groups.open.length)}
      />
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
