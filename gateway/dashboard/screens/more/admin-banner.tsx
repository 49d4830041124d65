import { useEffect, useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { formatTime } from '#dashboard/texts/format.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { Button, ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { AccessRequestJson } from '#shared/wire/access-requests.ts'
import { type Health, useHealth } from './use-health.ts'

const ASK_EVERY_MS = 5_000

/** Banners for admins on every screen: access requests, a copied card, an unconfirmed clock, a failed upgrade. */
export function AdminBanner() {
  const { health, again } = useHealth()
  return (
    <>
      <WaitingBanner />
      <MachineBanner health={health} again={again} />
      <ClockBanner health={health} again={again} />
      <WentBackBanner health={health} />
    </>
  )
}

function WaitingBanner() {
  const texts = moreTexts()
  const waiting = useWaiting().filter(({ allowed }) => !allowed)
  const [first, ...others] = waiting
  if (first === undefined) return null
  return (
    <div class="info-banner">
      <span class="cut" dir="auto">
        {texts.asksForAccess(first.name, first.check)} {others.length > 0 && texts.moreAsk(others.length)}
      </span>
      <ButtonLink text={texts.look} href={`${toHash('more')}/tablets`} />
    </div>
  )
}

/** Loads access requests only while the user has admin rights: a background request must not prompt for a PIN. */
function useWaiting(): readonly AccessRequestJson[] {
  const { api, me, line } = useDashboard()
  const [waiting, setWaiting] = useState<readonly AccessRequestJson[]>([])
  const mayAsk = me.value?.role === 'admin' && line.state.value.kind === 'live'
  useEffect(() => {
    setWaiting([])
    if (!mayAsk) return
    const ask = () => void api.call('GET /access-requests').then(setWaiting, () => undefined)
    ask()
    const timer = setInterval(ask, ASK_EVERY_MS)
    return () => clearInterval(timer)
  }, [api, mayAsk])
  return waiting
}

interface AskedHealth {
  health: Health | null
  again: () => void
}

/** "Is this the same course?": a copied card acts as the first course until an admin decides. */
function MachineBanner({ health, again }: AskedHealth) {
  const { api, gate } = useDashboard()
  const texts = moreTexts()
  const [isCopy, setIsCopy] = useState(false)
  const { send, fault, isSending } = useSending()
  if (health?.machine === undefined) return null
  const confirm = async () => {
    await gate.act(() => api.call('POST /machine/confirm'))
    again()
  }
  return (
    <div class="info-banner">
      <strong>{texts.otherMachine}</strong>
      <span class={isCopy ? '' : 'why'}>{isCopy ? texts.newSite : texts.otherMachineWhy}</span>
      <span class="row">
        <Button text={texts.sameCourse} disabled={isSending} onClick={() => void send(confirm)} />
        {!isCopy && <Button text={texts.otherCourse} onClick={() => setIsCopy(true)} />}
      </span>
      <Fault text={fault} />
    </div>
  )
}

/** "Is it 07:04?": after a power cut the clock of a gateway may be hours late without the gateway noticing. */
function ClockBanner({ health, again }: AskedHealth) {
  const { api, gate, clock, second, site } = useDashboard()
  const texts = moreTexts()
  const [isDenied, deny] = useState(false)
  const { send, fault, isSending } = useSending()
  if (health === null || health.clock === 'confirmed') return null
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const confirm = async () => {
    // the time shown in the question, which the user has compared with another clock
    const body = { time: new Date(clock.nowMs()).toISOString() }
    await gate.act(() => api.call('POST /clock/confirm', { body }))
    again()
  }
  return (
    <div class="info-banner">
      <strong>{texts.isIt(formatTime(nowMs, site.value.time_zone))}</strong>
      <span class={isDenied ? '' : 'why'}>{isDenied ? texts.setClock : texts.clockWhy}</span>
      {!isDenied && (
        <span class="row">
          <Button text={texts.yes} disabled={isSending} onClick={() => void send(confirm)} />
          <Button text={texts.no} onClick={() => deny(true)} />
        </span>
      )}
      <Fault text={fault} />
    </div>
  )
}

/** A new version could not run and the previous one is back; shown until the next upgrade. */
function WentBackBanner({ health }: Pick<AskedHealth, 'health'>) {
  const texts = moreTexts()
  if (health?.went_back === undefined) return null
  const { from, to } = health.went_back
  return (
    <div class="info-banner">
      <span>{texts.wentBack(from, to)}</span>
      <ButtonLink text={texts.look} href={toHash('more')} />
    </div>
  )
}
