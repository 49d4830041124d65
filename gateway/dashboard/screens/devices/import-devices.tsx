import { useState } from 'preact/hooks'
import type { Credential } from '#dashboard/live/credentials.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { ApiError } from '#shared/client.ts'
import type { LineError } from '#shared/errors.ts'
import type { AnswerOf } from '#shared/wire/operations.ts'
import { Credentials } from './credentials.tsx'
import { useRegister } from './use-devices.ts'

type Outcome = AnswerOf<'POST /devices/import'>

const ERROR_ROW_PX = 72

/** A file is looked at first; what is wrong in it is said line by line, and nothing is done before it is asked. */
export function ImportDevices() {
  const { api, gate } = useDashboard()
  const { devices } = useRegister()
  const texts = deviceTexts()
  const [file, setFile] = useState<Blob | null>(null)
  const [plan, setPlan] = useState<Outcome | null>(null)
  const [errors, setErrors] = useState<readonly LineError[]>([])
  const [done, setDone] = useState<{ outcome: Outcome; credentials: Credential[] } | null>(null)
  const [isAsked, ask] = useState(false)
  const { send, fault, isSending } = useSending()
  const importFile = (body: Blob, isDryRun: boolean) =>
    api.call('POST /devices/import', { body, query: { dry_run: isDryRun ? 'true' : 'false' } })
  const look = (chosen: File | undefined) => {
    if (chosen === undefined) return
    // browsers know CSV by other names where a spreadsheet program is installed
    const csv = new Blob([chosen], { type: 'text/csv' })
    setFile(csv)
    setPlan(null)
    setErrors([])
    setDone(null)
    void send(async () => {
      try {
        setPlan(await gate.act(() => importFile(csv, true)))
      } catch (error) {
        if (!(error instanceof ApiError) || error.lines.length === 0) throw error
        setErrors(error.lines)
      }
    })
  }
  const doIt = async () => {
    if (file === null) return
    const outcome = await importFile(file, false)
    ask(false)
    setPlan(null)
    setDone({ outcome, credentials: outcome.credentials.map(withoutName) })
    const known = new Map((await devices()).map((device) => [device.hardware_id, device]))
    const credentials = outcome.credentials.map((one) => {
      const { name = null, cart = null } = known.get(one.hardware_id) ?? {}
      return { ...withoutName(one), name, cart }
    })
    setDone({ outcome, credentials })
  }
  const changes = plan === null ? 0 : plan.created + plan.updated
  return (
    <>
      <section class="panel">
        <h2>{texts.importTitle}</h2>
        <p>{texts.importWhat}</p>
        <label class="field">
          {texts.choose}
          <input
            type="file"
            class="import-drop"
            accept=".csv,text/csv,text/plain"
            onChange={({ currentTarget }) => {
              look(currentTarget.files?.[0])
              // the same file may be chosen again after it was put right
              currentTarget.value = ''
            }}
          />
        </label>
        <p class="small">{texts.drop}</p>
        {isSending && <p role="status">{texts.checking} …</p>}
        <Fault text={fault} />
        {errors.length > 0 && <Errors errors={errors} />}
        {plan !== null && (
          <>
            <p role="status">
              {changes === 0 ? texts.nothing : texts.would(plan.created, plan.updated, plan.unchanged)}
            </p>
            <button type="button" class="button main" disabled={changes === 0} onClick={() => ask(true)}>
              {texts.doIt}
            </button>
          </>
        )}
        {done !== null && (
          <p role="status">{texts.did(done.outcome.created, done.outcome.updated, done.outcome.unchanged)}</p>
        )}
      </section>
      {done !== null && done.credentials.length > 0 && <Credentials of={done.credentials} />}
      {isAsked && (
        <Question
          title={texts.doItTitle(changes)}
          action={texts.doIt}
          onCancel={() => ask(false)}
          onAnswer={doIt}
          refusal={refusalText}
        >
          <p>{texts.doItWhy}</p>
        </Question>
      )}
    </>
  )
}

function Errors({ errors }: { errors: readonly LineError[] }) {
  const texts = deviceTexts()
  return (
    <>
      <p class="error" role="alert">
        {texts.wrong(errors.length)}
      </p>
      <div class="import-errors">
        <VirtualList
          items={errors}
          rowPx={ERROR_ROW_PX}
          label={texts.wrong(errors.length)}
          keyOf={({ line, code }) => `${line} ${code}`}
        >
          {({ line, code, message }) => (
            <div class="import-error">
              <strong class="cut">{`${texts.line(line)}: ${texts.codes[code] ?? code}`}</strong>
              <span class="small cut" dir="auto">
                {message}
              </span>
            </div>
          )}
        </VirtualList>
      </div>
    </>
  )
}

function withoutName({ hardware_id, password }: Outcome['credentials'][number]): Credential {
  return { hardwareId: hardware_id, password, name: null, cart: null }
}
