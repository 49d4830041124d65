import './gateway.css'
import { useState } from 'preact/hooks'
import { cartTexts } from '#dashboard/texts/cart.ts'
import { auditSentence, auditWords } from '#dashboard/texts/gateway/audit-words.ts'
import { gatewayTexts } from '#dashboard/texts/gateway/gateway.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { AUDIT_ACTIONS } from '#shared/audit-actions.ts'
import type { AuditEntryJson } from '#shared/wire/audit-log.ts'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'
import { Pager } from './pager.tsx'

const PAGE = 50
/** Maximum number of entries in one response of the gateway. */
const CSV_ENTRIES = 1_000

/** Activity log: a page of More, which provides its title. */
export function AuditLogPage() {
  const { api, gate, fleet } = useDashboard()
  const texts = gatewayTexts()
  const [userId, setUserId] = useState('')
  const [action, setAction] = useState('')
  const [offset, setOffset] = useState(0)
  const { send, fault, isSending } = useSending()
  const filter = {
    ...(userId === '' ? {} : { user_id: userId }),
    ...(action === '' ? {} : { action }),
  }
  const load = async () => ({
    users: await api.call('GET /users'),
    log: await api.call('GET /audit-log', { query: { ...filter, limit: PAGE, offset } }),
  })
  const list = useAdminList(load, undefined, JSON.stringify({ ...filter, offset }))
  const save = async () => {
    const query = { ...filter, limit: CSV_ENTRIES, offset, format: 'csv' as const }
    const response = await gate.act(() => api.download('GET /audit-log', { query }))
    saveCsv('audit-log.csv', await response.text())
  }
  return (
    <>
      <p>{texts.auditWhy}</p>
      <AdminList of={list}>
        {({ users, log: { entries } }) => {
          const nameOf = (id: string) => nameIn(users, fleet.devices, id)
          return (
            <>
              <div class="stack">
                <label class="field">
                  {texts.person}
                  <select
                    value={userId}
                    onChange={({ currentTarget: { value } }) => {
                      setOffset(0)
                      setUserId(value)
                    }}
                  >
                    <option value="">{texts.everybody}</option>
                    {users.map(({ user_id, name }) => (
                      <option key={user_id} value={user_id}>
                        {name}
                      </option>
                    ))}
                  </select>
                </label>
                <label class="field">
                  {texts.action}
                  <select
                    value={action}
                    onChange={({ currentTarget: { value } }) => {
                      setOffset(0)
                      setAction(value)
                    }}
                  >
                    <option value="">{texts.everything}</option>
                    {AUDIT_ACTIONS.map((one) => ({ one, words: auditWords(one) }))
                      .sort((a, b) => a.words.localeCompare(b.words))
                      .map(({ one, words }) => (
                        <option key={one} value={one}>
                          {words}
                        </option>
                      ))}
                  </select>
                </label>
                <Fault text={fault} />
                <button type="button" class="button" disabled={isSending} onClick={() => void send(save)}>
                  {texts.saveCsv}
                </button>
              </div>
              <section class="panel">
                {entries.length === 0 && <p>{texts.noEntries}</p>}
                <ul class="items">
                  {entries.map((entry) => (
                    <Entry key={entry.entry_id} entry={entry} who={whoDid(entry, users)} name={nameOf} />
                  ))}
                </ul>
                <Pager
                  offset={offset}
                  limit={PAGE}
                  isLast={entries.length < PAGE}
                  onOffset={setOffset}
                  names={{ previous: texts.newer, next: texts.older }}
                />
              </section>
            </>
          )
        }}
      </AdminList>
    </>
  )
}

/** Returns the name of a user or a device; the id of any other object. */
function nameIn(
  users: readonly { user_id: string; name: string }[],
  devices: ReadonlyMap<string, { cart: string | null; name?: string | undefined }>,
  id: string,
): string {
  const device = devices.get(id)
  const cart = device?.cart == null ? undefined : cartTexts().cart(device.cart)
  return users.find(({ user_id }) => user_id === id)?.name ?? cart ?? device?.name ?? id
}

function whoDid(
  { user_id, person, address }: AuditEntryJson,
  users: readonly { user_id: string; name: string }[],
): string {
  const texts = gatewayTexts()
  const user = users.find((one) => one.user_id === user_id)?.name ?? user_id
  if (user === null) return address ?? texts.gatewayItself
  return person === null ? user : texts.forPerson(person.name, user)
}

interface EntryProps {
  entry: AuditEntryJson
  who: string
  name: (id: string) => string
}

function Entry({ entry, who, name }: EntryProps) {
  const texts = gatewayTexts()
  const moment = useMoments()
  const { at, before, after } = entry
  return (
    <li>
      <div class="what">
        <p dir="auto">
          <strong>{auditSentence(entry, name)}</strong>
        </p>
        <p class="small" dir="auto">
          {`${moment(at)} · ${who}`}
        </p>
        {(before !== null || after !== null) && (
          <details class="unfold">
            <summary>{texts.changed}</summary>
            <Values name={texts.before} values={before} />
            <Values name={texts.after} values={after} />
          </details>
        )}
      </div>
    </li>
  )
}

function Values({ name, values }: { name: string; values: AuditEntryJson['before'] }) {
  if (values === null) return null
  return (
    <pre class="raw-message" dir="auto">
      {`${name}: ${JSON.stringify(values, null, 1)}`}
    </pre>
  )
}
