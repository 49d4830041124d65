import { useEffect, useState } from 'preact/hooks'
import type { Credential } from '#dashboard/live/credentials.ts'
import { deviceTexts } from '#dashboard/texts/devices.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { ApiError } from '#shared/client.ts'
import type { LineError } from '#shared/errors.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { Credentials } from './credentials.tsx'
import { useRegister } from './use-devices.ts'

type Outcome = AnswerOf<'POST /devices/import'>

const ERROR_ROW_PX = 72
const SAMPLE = '\u{feff}hardware_id,device_type,name,cart,group\r\nTB-001,teebox,Cart 1,1,\r\n'

/** Import of a device list: the file is checked and its errors listed by line; saved only after a confirmation. */
export function ImportDevices() {
  const { api, gate } = useDashboard()
  const { devices, types } = useRegister()
  const kinds = useKinds(types)
  const texts = deviceTexts()
  const [file, setFile] = useState<Blob | null>(null)
  const [fileName, setFileName] = useState<string | null>(null)
  const [plan, setPlan] = useState<Outcome | null>(null)
  const [errors, setErrors] = useState<readonly LineError[]>([])
  const [done, setDone] = useState<Outcome | null>(null)
  // from all files: those of an earlier file may be neither printed nor saved yet
  const [issued, setIssued] = useState<readonly Credential[]>([])
  const [isAsked, ask] = useState(false)
  const { send, fault, isSending } = useSending()
  const importFile = (body: Blob, isDryRun: boolean) =>
    api.call('POST /devices/import', { body, query: { dry_run: isDryRun ? 'true' : 'false' } })
  const preview = (chosen: File | undefined) => {
    if (chosen === undefined) return
    // browsers use a different type for CSV if a spreadsheet program is installed
    const csv = new Blob([chosen], { type: 'text/csv' })
    setFile(csv)
    setFileName(chosen.name)
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
    setDone(outcome)
    setIssued([...issued, ...outcome.credentials.map(withoutName)])
    const known = new Map((await devices()).map((device) => [device.hardware_id, device]))
    const credentials = outcome.credentials.map((one) => {
      const { name = null, cart = null } = known.get(one.hardware_id) ?? {}
      return { ...withoutName(one), name, cart }
    })
    setIssued([...issued, ...credentials])
  }
  const changes = plan === null ? 0 : plan.created + plan.updated
  return (
    <>
      <section class="panel">
        <h2>{texts.importTitle}</h2>
        <p>{texts.importWhat}</p>
        {kinds.length > 0 && <p>{texts.kinds(kinds.join(', '))}</p>}
        <button type="button" class="button" onClick={() => saveCsv('devices.csv', SAMPLE)}>
          {texts.sample}
        </button>
        <label class="field">
          {texts.choose}
          <input
            type="file"
            class="import-drop"
            accept=".csv,text/csv,text/plain"
            onChange={({ currentTarget }) => {
              preview(currentTarget.files?.[0])
              // allows the same file to be chosen again after a correction
              currentTarget.value = ''
            }}
          />
        </label>
        <p class="small">{texts.drop}</p>
        {fileName !== null && (
          <p dir="auto">
            <strong>{fileName}</strong>
          </p>
        )}
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
        {done !== null && <p role="status">{texts.did(done.created, done.updated, done.unchanged)}</p>}
      </section>
      {issued.length > 0 && <Credentials of={issued} />}
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

/** Returns the names of all device types; empty until they are known. */
function useKinds(types: ReturnType<typeof useRegister>['types']): readonly string[] {
  const [kinds, setKinds] = useState<readonly string[]>([])
  useEffect(() => {
    types().then(
      (known) => setKinds(known.map(({ name }) => name)),
      () => undefined,
    )
  }, [])
  return kinds
}

function Errors({ errors }: { errors: readonly LineError[] }) {
  const texts = deviceTexts()
  // the details of the gateway are in English
  const { language } = useDashboard().site.value
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
              {(language === 'en' || texts.codes[code] === undefined) && (
                <span class="small cut" dir="auto">
                  {message}
                </span>
              )}
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
