import type { Dashboard } from '#dashboard/live/dashboard.ts'
import { alertTexts } from '#dashboard/texts/alerts.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { type AuditNames, auditAct, auditSentence } from '#dashboard/texts/gateway/audit-words.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { useAddress } from '#dashboard/ui/use-address.ts'
import { AUDIT_ACTIONS } from '#shared/audit-actions.ts'
import type { AuditEntryJson } from '#shared/wire/audit-log.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'
import { Pager } from './pager.tsx'

const PAGE = 50
/** Maximum number of entries in one response of the gateway. */
const CSV_ENTRIES = 1_000

/** Activity log in sentences: a page of More, which provides its title. */
export function AuditLogPage() {
  const { api, gate, fleet, router } = useDashboard()
  const texts = gatewayTexts()
  const [userId] = useAddress('person')
  const [action] = useAddress('action')
  const [from] = useAddress('from')
  const { send, fault, isSending } = useSending()
  const filter = {
    ...(userId === '' ? {} : { user_id: userId }),
    ...(action === '' ? {} : { action }),
  }
  const offset = Number(from)
  const load = async () => ({
    users: await api.call('GET /users'),
    sessions: await api.call('GET /sessions'),
    log: await api.call('GET /audit-log', { query: { ...filter, limit: PAGE, offset } }),
  })
  const list = useAdminList(load, undefined, JSON.stringify({ ...filter, offset }))
  const save = async () => {
    const query = { ...filter, limit: CSV_ENTRIES, offset, format: 'csv' as const }
    const response = await gate.act(() => api.download('GET /audit-log', { query }))
    saveCsv('audit-log.csv', await response.text())
  }
  const actions = AUDIT_ACTIONS.map((one) => [one as string, auditAct(one)] as const)
  return (
    <AdminList of={list}>
      {({ users, sessions, log: { entries } }) => {
        const names: AuditNames = {
          of: (id) => users.find(({ user_id }) => user_id === id)?.name ?? nameInFleet(fleet, id),
          tablet: (id) => sessions.find(({ session_id }) => session_id === id)?.name ?? null,
        }
        return (
          <>
            <div class="row not-printed">
              <p class="grow">{texts.auditWhy}</p>
              <SelectField
                name={texts.person}
                value={userId}
                options={new Map([['', texts.everybody], ...users.map((user) => [user.user_id, user.name] as const)])}
                onChoose={(person) => router.choose({ person, from: '' })}
              />
              <SelectField
                name={texts.action}
                value={action}
                options={new Map([['', texts.everything], ...actions.toSorted(([, a], [, b]) => a.localeCompare(b))])}
                onChoose={(chosen) => router.choose({ action: chosen, from: '' })}
              />
              <Button text={texts.saveCsv} disabled={isSending} onClick={() => void send(save)} />
            </div>
            <Fault text={fault} />
            <section class="panel">
              {entries.length === 0 && <p>{texts.noEntries}</p>}
              <ul class="items">
                {entries.map((entry) => (
                  <Entry key={entry.entry_id} entry={entry} names={names} />
                ))}
              </ul>
              <Pager
                offset={offset}
                limit={PAGE}
                isLast={entries.length < PAGE}
                onOffset={(next) => router.choose({ from: next === 0 ? '' : String(next) })}
                names={{ previous: texts.newer, next: texts.older }}
              />
            </section>
          </>
        )
      }}
    </AdminList>
  )
}

/** Returns the cart or the name of a device, or what an alert is about; the id of any other object. */
function nameInFleet({ devices, alerts }: Dashboard['fleet'], id: string): string {
  const [device, alert] = [devices.get(id), alerts.get(id)]
  if (alert !== undefined) return `“${alertTexts().kinds[alert.kind]}”, ${deviceTexts().cartOf(alert.cart ?? '')}`
  return device?.cart == null ? (device?.name ?? id) : deviceTexts().cartOf(device.cart)
}

function Entry({ entry, names }: { entry: AuditEntryJson; names: AuditNames }) {
  const texts = gatewayTexts()
  const moment = useMoments()
  const { at, before, after } = entry
  return (
    <li>
      <div class="words">
        <strong class="sentence" dir="auto">
          {auditSentence(entry, names)}
        </strong>
        <span class="small">{moment(at)}</span>
      </div>
      {(before !== null || after !== null) && (
        <details class="unfold not-printed">
          <summary>{texts.changed}</summary>
          <Values name={texts.before} values={before} />
          <Values name={texts.after} values={after} />
        </details>
      )}
    </li>
  )
}

function Values({ name, values }: { name: string; values: AuditEntryJson['before'] }) {
  if (values === null) return null
  return (
    <pre class="raw" dir="auto">
      {`${name}: ${JSON.stringify(values, null, 1)}`}
    </pre>
  )
}
