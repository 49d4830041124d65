import './gateway.css'
import { useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { formatTime } from '#dashboard/texts/format.ts'
import { checklistTexts } from '#dashboard/texts/gateway/checklist.ts'
import { repairTexts } from '#dashboard/texts/gateway/repairs.ts'
import { language } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { describeFinding, findingKind, type RepairAction } from '#shared/wire/machine/findings.ts'
import type { FindingJson } from '#shared/wire/machine/repairs.ts'
import { useChecklist } from '../checklist.tsx'
import { AdminList } from '../more/admin-list.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'

const REFRESH_MS = 5_000

/** Faults that the gateway finds itself, each with a button or a command: a page of More, which provides its title. */
export function RepairsPage() {
  const { api } = useDashboard()
  const texts = repairTexts()
  const list = useAdminList(() => api.call('GET /repairs'), REFRESH_MS)
  const [done, setDone] = useState<string | null>(null)
  return (
    <>
      <p>{texts.what}</p>
      <p role="status">{done}</p>
      <AdminList of={list}>
        {({ findings }) =>
          findings.length === 0 ? (
            <p>{texts.none}</p>
          ) : (
            findings.map((finding) => (
              <Finding
                key={`${finding.code} ${finding.target} ${Object.values(finding.values).join(' ')}`}
                finding={finding}
                onDone={async (result) => {
                  setDone(result)
                  await list.again()
                }}
              />
            ))
          )
        }
      </AdminList>
      <p class="small">{texts.outside}</p>
      <HiddenChecklist />
    </>
  )
}

interface FindingProps {
  finding: FindingJson
  onDone: (result: string) => Promise<void>
}

function Finding({ finding: { code, level, values, action, target }, onDone }: FindingProps) {
  const { site, clock } = useDashboard()
  const texts = repairTexts()
  const moment = useMoments()
  const act = useActions()
  const [isAsked, ask] = useState(false)
  const show = (name: string, value: string | number) => (name.endsWith('_at') ? moment(String(value)) : String(value))
  const described = describeFinding(code, values, language.value, show)
  const [message, todo] = [asSentence(described.message), asSentence(described.todo)]
  const { page } = findingKind(code)
  return (
    <section class="panel">
      <h2>{`${texts.levels[level]}: ${described.about}`}</h2>
      <p dir="auto">{message}</p>
      {action === null || action === 'confirm_machine' ? <p class="command-line address">{todo}</p> : null}
      <div class="row">
        {action !== null && (
          <button type="button" class="button main" onClick={() => ask(true)}>
            {texts.actions[action]}
          </button>
        )}
        {page !== undefined && (
          <a class="button" href={toHash('more', page)}>
            {texts.view}
          </a>
        )}
      </div>
      {isAsked && action !== null && (
        <Question
          title={`${texts.actions[action]}?`}
          action={texts.actions[action]}
          onCancel={() => ask(false)}
          onAnswer={async () => {
            const result = await act(action, target)
            ask(false)
            await onDone(result)
          }}
          refusal={refusalText}
        >
          <p>{action === 'confirm_clock' ? texts.isIt(formatTime(clock.nowMs(), site.value.time_zone)) : message}</p>
        </Question>
      )}
    </section>
  )
}

/** Begins with a capital: the command prints the same words in the middle of a line. */
function asSentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** Returns a function that runs an action and resolves to its result in words. */
function useActions(): (action: RepairAction, target: string | null) => Promise<string> {
  const { api, clock } = useDashboard()
  const texts = repairTexts()
  const calls: Readonly<Record<RepairAction, (id: string) => Promise<object>>> = {
    accept_loss: () => api.call('POST /repairs/accept'),
    back_up: () => api.call('POST /backups'),
    confirm_clock: () => api.call('POST /clock/confirm', { body: { time: new Date(clock.nowMs()).toISOString() } }),
    confirm_machine: () => api.call('POST /machine/confirm'),
    renew_certificate: () => api.call('POST /tls/renew'),
    send_test: (id) => api.call('POST /notifiers/{id}/test', { path: { id } }),
  }
  return async (action, target) => {
    const answer: { detail?: string } = await calls[action](target ?? '')
    return answer.detail === undefined ? texts.done[action] : texts.notRenewed(answer.detail)
  }
}

/** Button that shows the checklist of the set-up again. */
function HiddenChecklist() {
  const { api, gate } = useDashboard()
  const { checklist, again } = useChecklist()
  const { send, fault, isSending } = useSending()
  if (checklist?.hidden !== true) return null
  const show = async () => {
    await gate.act(() => api.call('PATCH /site', { body: { hide_checklist: false } }))
    again()
  }
  return (
    <>
      <Fault text={fault} />
      <button type="button" class="button" disabled={isSending} onClick={() => void send(show)}>
        {checklistTexts().show}
      </button>
    </>
  )
}
