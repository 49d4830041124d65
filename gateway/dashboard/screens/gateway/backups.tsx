import { formatBytes, formatCount } from '#dashboard/texts/format.ts'
import { backupTexts } from '#dashboard/texts/gateway/backups.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'

const RELOAD_EVERY_MS = 3_000
type Backups = AnswerOf<'GET /backups'>

/** Target and results of the nightly backups, and a backup on request: a page of More, which provides its title. */
export function BackupsPage() {
  const { api } = useDashboard()
  const texts = backupTexts()
  const list = useAdminList(() => api.call('GET /backups'), RELOAD_EVERY_MS)
  return (
    <>
      <p>{texts.why}</p>
      <AdminList of={list}>
        {(backups) => (
          <>
            {backups.state === 'none' ? (
              <section class="panel">
                <p class="error">{texts.none}</p>
                <p>{texts.howTo}</p>
              </section>
            ) : (
              <State backups={backups} onBegun={list.again} />
            )}
            {backups.backups.length > 0 && <Kept backups={backups.backups} />}
            <section class="panel">
              <h2>{texts.lacks}</h2>
              <ul class="bullets" lang="en">
                {backups.lacks.map((what) => (
                  <li key={what}>{what}</li>
                ))}
              </ul>
              <p class="small">{texts.lacksWhy}</p>
            </section>
          </>
        )}
      </AdminList>
    </>
  )
}

function State({ backups, onBegun }: { backups: Backups; onBegun: () => Promise<void> }) {
  const { api, gate, clock } = useDashboard()
  const texts = backupTexts()
  const moment = useMoments()
  const { send, fault, isSending } = useSending()
  const { target, state, last_good_at, next_at, keep, overdue, last_error } = backups
  const [isRunning, isHeld] = [state === 'running', state === 'other_machine']
  const isDue = next_at === null || Date.parse(next_at) <= clock.nowMs()
  const begin = () =>
    send(async () => {
      await gate.act(() => api.call('POST /backups'))
      await onBegun()
    })
  return (
    <section class="panel">
      <Facts
        of={[
          [texts.target, target],
          [texts.lastGood, last_good_at === null ? texts.never : moment(last_good_at)],
          [texts.next, isHeld ? null : isDue ? texts.nextNow : moment(next_at)],
          [texts.kept, keep === null ? '' : formatCount(keep)],
        ]}
      />
      {isHeld && <p class="error">{texts.otherMachine}</p>}
      {overdue && <p class="error">{texts.overdue}</p>}
      {last_error !== null && (
        <>
          <p class="error">{texts.lastFailed(moment(last_error.at))}</p>
          <p lang="en" dir="auto">
            {last_error.detail}
          </p>
        </>
      )}
      <p role="status">{isRunning && texts.running}</p>
      <Fault text={fault} />
      <Button text={texts.now} disabled={isSending || isRunning || isHeld} onClick={() => void begin()} />
    </section>
  )
}

function Kept({ backups }: { backups: Backups['backups'] }) {
  const texts = backupTexts()
  const moment = useMoments()
  return (
    <section class="panel">
      <h2>{texts.list}</h2>
      <p class="small">{texts.listWhy}</p>
      <ul class="items">
        {backups.map(({ number, at, rows, bytes }) => (
          <li key={number}>
            <span>
              {[texts.numbered(String(number)), moment(at), formatBytes(bytes), texts.rows(formatCount(rows))].join(
                ' · ',
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
