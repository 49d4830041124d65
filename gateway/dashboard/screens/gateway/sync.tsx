import { useState } from 'preact/hooks'
import { formatAge, formatCount, formatSpan } from '#dashboard/texts/format.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { SyncStatusJson } from '#shared/wire/sync-status.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'

const RELOAD_EVERY_MS = 5_000
type Details = NonNullable<SyncStatusJson['details']>

/** State of the sync with the hub: a page of More, which provides its title. */
export function SyncPage() {
  const { api } = useDashboard()
  const texts = gatewayTexts()
  const list = useAdminList(() => api.call('GET /sync/status'), RELOAD_EVERY_MS)
  return (
    <>
      <p>{texts.syncWhy}</p>
      <AdminList of={list}>
        {({ state, explanation, details }) =>
          details === null ? (
            <p>{texts.noSync}</p>
          ) : (
            <section class="panel">
              <h2>{texts.syncStates[judged(state)]}</h2>
              <p lang="en" dir="auto">
                {explanation}
              </p>
              <SyncFacts details={details} />
              <Compare />
            </section>
          )
        }
      </AdminList>
    </>
  )
}

function judged(state: SyncStatusJson['state']): 'good' | 'busy' | 'bad' {
  if (state === 'in_sync') return 'good'
  return state === 'connecting' || state === 'comparing' || state === 'draining' ? 'busy' : 'bad'
}

function SyncFacts({ details }: { details: Details }) {
  const { clock, second } = useDashboard()
  const texts = gatewayTexts()
  const moment = useMoments()
  const nowMs = second.value >= 0 ? clock.nowMs() : 0
  const { upstream, site, last_contact_at, last_error, time_to_go_s, streams } = details
  const waiting = streams.reduce<number | null>(
    (count, { waiting_rows }) => (count === null || waiting_rows === null ? null : count + waiting_rows),
    0,
  )
  const left = time_to_go_s === null || waiting === 0 ? '' : `, ${texts.timeToGo(formatSpan(time_to_go_s * 1_000))}`
  const behind = streams.filter(({ waiting_rows, trouble }) => waiting_rows !== 0 || trouble !== null)
  return (
    <Facts
      of={[
        [texts.headOffice, upstream],
        [texts.syncSite, site],
        [texts.lastContact, last_contact_at === null ? texts.never : formatAge(last_contact_at, nowMs)],
        [texts.waitingRows, `${rowsText(waiting)}${left}`],
        ...behind.map(({ stream, waiting_rows, oldest_at, trouble }) => {
          const isTelemetry = stream === 'telemetry' || stream === 'history'
          const oldest = oldest_at === null ? null : texts.oldest(moment(oldest_at))
          const facts = [rowsText(waiting_rows), oldest, trouble].filter((fact) => fact !== null)
          return [isTelemetry ? texts.streams[stream] : `${texts.streams.other} (${stream})`, facts.join(', ')] as const
        }),
        [texts.lastError, last_error === null ? null : `${moment(last_error.at)}: ${last_error.detail}`],
      ]}
    />
  )
}

function rowsText(count: number | null): string {
  const texts = gatewayTexts()
  return count === null ? texts.notCounted : texts.rows(formatCount(count))
}

function Compare() {
  const { api, gate } = useDashboard()
  const texts = gatewayTexts()
  const { send, fault, isSending } = useSending()
  const [isAsked, setAsked] = useState(false)
  const compare = () =>
    send(async () => {
      await gate.act(() => api.call('POST /sync/audit'))
      setAsked(true)
    })
  return (
    <>
      <p role="status">{isAsked && texts.comparing}</p>
      <Fault text={fault} />
      <Button text={texts.compare} disabled={isSending} onClick={() => void compare()} />
    </>
  )
}
