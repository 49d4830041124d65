import { useEffect, useState } from 'preact/hooks'
import { keepRestore } from '#dashboard/live/set-up/restore-source.ts'
import { timeZones } from '#dashboard/live/set-up/set-up.ts'
import { formatCount, formatMoment } from '#dashboard/texts/format.ts'
import { restoreTexts } from '#dashboard/texts/gateway/restore.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { ApiError } from '#shared/client.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { SignInPage } from './sign-in-page.tsx'

type State = AnswerOf<'GET /setup/restore/{restore_id}'>

const ASK_EVERY_MS = 1_000

/** Progress and result of a restore, which the gateway reports also while it restarts. */
export function RestoreProgress({ id, onFailed }: { id: string; onFailed: () => void }) {
  const texts = restoreTexts()
  const { state, isLost } = useRestore(id)
  const leave = () => {
    keepRestore(null)
    location.reload()
  }
  if (state?.state === 'failed')
    return (
      <SignInPage title={texts.failed}>
        <div class="panel">
          <Fault text={state.reason ?? ''} />
          <p>{texts.unchanged}</p>
          <button type="button" class="button main" onClick={onFailed}>
            {texts.back}
          </button>
        </div>
      </SignInPage>
    )
  if (state?.result !== undefined)
    return (
      <SignInPage title={texts.done}>
        <div class="panel" role="status">
          <Result result={state.result} />
          <button type="button" class="button main" onClick={leave}>
            {signInTexts().signIn}
          </button>
        </div>
      </SignInPage>
    )
  const { done = 0, of = null } = state ?? {}
  return (
    <SignInPage title={`${texts.running} …`}>
      <div class="panel">
        <p>{texts.stay}</p>
        <progress aria-label={texts.running} {...(of === null ? {} : { value: done, max: of })} />
        <p role="status" class="small">
          {isLost
            ? texts.lost
            : of === null
              ? texts.rows(formatCount(done))
              : texts.parts(formatCount(done), formatCount(of))}
        </p>
      </div>
    </SignInPage>
  )
}

function Result({ result }: { result: NonNullable<State['result']> }) {
  const { clock } = useDashboard()
  const texts = restoreTexts()
  const { at, rows, lacks, left_out: leftOut, authority, credentials } = result
  const missing = [...lacks, ...leftOut]
  return (
    <>
      <p>{texts.doneAt(formatMoment(Date.parse(at), clock.nowMs(), timeZones().own), formatCount(rows))}</p>
      {credentials !== null && (
        <p>{texts.credentials(credentials.path, formatCount(credentials.devices), formatCount(credentials.users))}</p>
      )}
      {authority !== 'restored' && location.protocol === 'https:' && <p>{texts.authority}</p>}
      {missing.length > 0 && <Lacks lacks={missing} />}
      <p>{texts.signInNow}</p>
    </>
  )
}

/** List of what a backup does not contain, in the gateway's language. */
export function Lacks({ lacks }: { lacks: readonly string[] }) {
  return (
    <details>
      <summary>{restoreTexts().lacks}</summary>
      <ul lang="en">
        {lacks.map((what) => (
          <li key={what}>{what}</li>
        ))}
      </ul>
    </details>
  )
}

function useRestore(id: string): { state: State | null; isLost: boolean } {
  const { api } = useDashboard()
  const [state, setState] = useState<State | null>(null)
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      try {
        const now = await api.call('GET /setup/restore/{restore_id}', { path: { restore_id: id } })
        setState(now)
        setLost(false)
        if (now.state !== 'restoring') return
      } catch (error) {
        // the program was started again meanwhile, or an hour has passed
        if (error instanceof ApiError && error.status === 404) {
          keepRestore(null)
          return location.reload()
        }
        setLost(true)
      }
      timer = setTimeout(() => void ask(), ASK_EVERY_MS)
    }
    void ask()
    return () => clearTimeout(timer)
  }, [api, id])
  return { state, isLost }
}
