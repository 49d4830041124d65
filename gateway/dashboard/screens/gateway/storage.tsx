import '#dashboard/ui/lists/table.css'
import './gateway.css'
import { useState } from 'preact/hooks'
import { readMetric } from '#dashboard/live/metric-text.ts'
import { monthAfter } from '#dashboard/live/reports/months.ts'
import { formatBytes, formatCount, formatDay, formatMonth } from '#dashboard/texts/format.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { moreTexts } from '#dashboard/texts/more.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'

const RELOAD_EVERY_MS = 10_000
const DAY_S = 86_400
/** Default for the age of records to delete: data that old is rarely used. */
const [PURGE_DAYS, DAYS_MAX] = ['365', 3_650]

/** Stored data, its retention, and deletion of old records: a page of More, which provides its title. */
export function StoragePage() {
  const { api } = useDashboard()
  const texts = gatewayTexts()
  const [purges, setPurges] = useState(0)
  const list = useAdminList(
    async () => ({
      stats: await api.call('GET /stats'),
      health: await api.call('GET /health'),
      storage: readStorage(await api.call('GET /metrics')),
    }),
    RELOAD_EVERY_MS,
  )
  const purged = async () => {
    await list.again()
    setPurges(purges + 1)
  }
  return (
    <>
      <p>{texts.storageWhy}</p>
      <AdminList of={list}>
        {({ stats: { telemetry, commands, devices }, health, storage }) => (
          <>
            <section class="panel">
              <meter
                class="disk-meter"
                aria-label={texts.used}
                min={0}
                max={storage.budgetBytes}
                low={storage.budgetBytes * 0.8}
                high={storage.budgetBytes * 0.98}
                optimum={0}
                value={storage.usedBytes}
              />
              <Facts
                of={[
                  [texts.used, texts.usedOf(formatBytes(storage.usedBytes), formatBytes(storage.budgetBytes))],
                  [texts.free, formatBytes(Math.max(0, storage.budgetBytes - storage.usedBytes))],
                  [texts.positions, formatCount(telemetry.gps)],
                  [texts.voltages, formatCount(telemetry.battery)],
                  [texts.commands, formatCount(commands)],
                  [texts.devices, formatCount(devices)],
                  [texts.keptFor, texts.days(storage.telemetryDays)],
                  [texts.eventsKeptFor, texts.days(storage.eventDays)],
                ]}
              />
              {health.disk !== undefined && (
                <p class="error">
                  {`${moreTexts().disk}: ${moreTexts().diskStates[health.disk.state]}. ${
                    texts.full[storage.hasHub ? health.disk.state : 'alone']
                  }`}
                </p>
              )}
              <p class="small">{texts.keptWhere}</p>
            </section>
            <Ages key={purges} keptDays={storage.telemetryDays} />
            <Purge onPurged={purged} />
          </>
        )}
      </AdminList>
    </>
  )
}

interface Storage {
  usedBytes: number
  budgetBytes: number
  /** 0 keeps records permanently. */
  telemetryDays: number
  eventDays: number
  hasHub: boolean
}

function readStorage(metrics: string): Storage {
  const read = (name: string) => readMetric(metrics, name) ?? 0
  return {
    usedBytes: read('cartbarn_disk_used_bytes'),
    budgetBytes: read('cartbarn_disk_budget_bytes'),
    telemetryDays: read('cartbarn_retention_seconds{of="telemetry"}') / DAY_S,
    eventDays: read('cartbarn_retention_seconds{of="events"}') / DAY_S,
    hasHub: readMetric(metrics, 'cartbarn_sync_acked_rows_total') !== undefined,
  }
}

/** Records of each month, and the time at which the last of them expires. */
function Ages({ keptDays }: { keptDays: number }) {
  const { api, site } = useDashboard()
  const texts = gatewayTexts()
  const list = useAdminList(() => api.call('GET /telemetry/months'))
  return (
    <section class="panel">
      <h2>{texts.ages}</h2>
      <p class="small">{texts.agesWhy}</p>
      <AdminList of={list}>
        {({ months }) =>
          months.length === 0 ? (
            <p>{texts.noAges}</p>
          ) : (
            <table class="table">
              <thead>
                <tr>
                  <th>{texts.month}</th>
                  <th>{texts.size}</th>
                  {keptDays > 0 && <th>{texts.goneBy}</th>}
                </tr>
              </thead>
              <tbody>
                {months.toReversed().map(({ month, bytes }) => (
                  <tr key={month}>
                    <th scope="row">{formatMonth(month)}</th>
                    <td>{formatBytes(bytes)}</td>
                    {keptDays > 0 && (
                      <td>{formatDay(endOfMonthMs(month) + keptDays * DAY_S * 1000, site.value.time_zone)}</td>
                    )}
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </AdminList>
    </section>
  )
}

function endOfMonthMs(month: string): number {
  return Date.parse(`${monthAfter(month, 1)}-01T00:00:00Z`)
}

function Purge({ onPurged }: { onPurged: () => Promise<void> }) {
  const { api } = useDashboard()
  const texts = gatewayTexts()
  const [typed, setTyped] = useState(PURGE_DAYS)
  const [message, setMessage] = useState<string | null>(null)
  const days = Number(typed)
  const isReady = Number.isInteger(days) && days >= 1 && days <= DAYS_MAX
  const purge = async () => {
    const { purged } = await api.call('POST /telemetry/purge', { body: { older_than_days: days } })
    setMessage(texts.purged(formatCount(purged.gps), formatCount(purged.battery)))
    await onPurged()
  }
  return (
    <section class="panel">
      <h2>{texts.purge}</h2>
      <p>{texts.purgeWhy}</p>
      <TextField name={texts.purgeDays} max={4} value={typed} onInput={setTyped} />
      <p role="status">{message}</p>
      <AskButton
        action={texts.purge}
        title={texts.askPurge(isReady ? days : 0)}
        means={texts.purgeMeans}
        isReady={isReady}
        onAnswer={purge}
      />
    </section>
  )
}
