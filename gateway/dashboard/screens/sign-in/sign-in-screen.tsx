import { useEffect, useState } from 'preact/hooks'
import { isCodeSoFar, isTypedCode, type SignInCode } from '#dashboard/live/code.ts'
import { keepsCookies } from '#dashboard/live/page/cookies.ts'
import { keepsText } from '#dashboard/live/page/kept-text.ts'
import { keepRestore, keptRestore } from '#dashboard/live/set-up/restore-source.ts'
import { isFirstSetUp } from '#dashboard/live/set-up/set-up.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { ApiError } from '#shared/client.ts'
import type { MeJson } from '#shared/wire/sessions.ts'
import { AskForAccess } from './ask-for-access.tsx'
import { RestoreProgress } from './restore-progress.tsx'
import { SetUp } from './set-up.tsx'
import { SignInPage } from './sign-in-page.tsx'

/** Screen of a tablet that has no session, brings a code, or has just set the gateway up. */
export function SignInScreen() {
  const dashboard = useDashboard()
  const { me, code } = dashboard
  const known = me.value
  const [setUp, setSetUp] = useState<MeJson | null>(known !== null && isFirstSetUp(known) ? known : null)
  const enter = (signedIn: MeJson) => {
    if (isFirstSetUp(signedIn)) return setSetUp(signedIn)
    dashboard.begin(signedIn)
    dashboard.forgetCode()
  }
  const [blocked, setBlocked] = useState(whatIsBlocked)
  const [restore, setRestore] = useState(keptRestore)
  const forget = () => {
    keepRestore(null)
    setRestore(null)
  }
  if (blocked !== null) {
    return <Blocked what={blocked} onAgain={() => setBlocked(whatIsBlocked())} onContinue={() => setBlocked(null)} />
  }
  if (restore !== null) return <RestoreProgress id={restore} onFailed={forget} />
  if (setUp !== null) return <SetUp me={setUp} onDone={enter} onRestore={setRestore} />
  const given = code.value
  if (given !== null) return <WithCode key={given.code} given={given} onIn={enter} />
  return <WithKey onIn={enter} />
}

function whatIsBlocked(): 'cookies' | 'storage' | null {
  if (!keepsCookies()) return 'cookies'
  return keepsText() ? null : 'storage'
}

interface BlockedProps {
  what: 'cookies' | 'storage'
  onAgain: () => void
  onContinue: () => void
}

/** Shown before a code is used, because it works only once; a sign-in without storage is possible. */
function Blocked({ what, onAgain, onContinue }: BlockedProps) {
  const texts = signInTexts()
  return (
    <SignInPage title={texts.title}>
      <div class="panel">
        <p role="alert">{texts.blocked[what](location.hostname)}</p>
        <button type="button" class="button main" onClick={onAgain}>
          {texts.tryAgain}
        </button>
        {what === 'storage' && (
          <button type="button" class="button" onClick={onContinue}>
            {texts.withoutStorage}
          </button>
        )}
      </div>
    </SignInPage>
  )
}

/** Uses the code of the address immediately. */
function WithCode({ given, onIn }: { given: SignInCode; onIn: (me: MeJson) => void }) {
  const dashboard = useDashboard()
  const texts = signInTexts()
  const { send, fault, isSending } = useSending()
  const [isRefused, setRefused] = useState(false)
  const use = () =>
    send(async () => {
      try {
        onIn(await dashboard.api.call('POST /sessions', { body: { code: given.code } }))
      } catch (error) {
        setRefused(error instanceof ApiError && error.status === 401)
        throw error
      }
    })
  useEffect(() => void use(), [])
  return (
    <SignInPage title={texts.title}>
      <div class="panel">
        <p role="status">{isSending ? `${texts.signingIn} …` : ''}</p>
        <Fault text={fault} />
        {fault !== null && !isRefused && (
          <button type="button" class="button main" onClick={() => void use()}>
            {texts.tryAgain}
          </button>
        )}
        {fault !== null && (
          <button type="button" class="button" onClick={() => dashboard.forgetCode()}>
            {texts.otherWay}
          </button>
        )}
      </div>
    </SignInPage>
  )
}

/** Form for a key or a typed code; on a gateway with an admin the tablet may request access instead. */
function WithKey({ onIn }: { onIn: (me: MeJson) => void }) {
  const { api, line, codeFile } = useDashboard()
  const file = codeFile.value
  const texts = signInTexts()
  const [key, setKey] = useState('')
  const { send, fault, setFault, isSending } = useSending()
  const signIn = async (event: Event) => {
    event.preventDefault()
    const typed = key.trim()
    if (typed === '') return
    if (isCodeSoFar(typed) && !isTypedCode(typed)) return setFault(texts.codeLength)
    await send(async () =>
      onIn(await api.call('POST /sessions', { body: isTypedCode(typed) ? { code: typed } : { api_key: typed } })),
    )
  }
  return (
    <SignInPage title={file === null ? texts.title : texts.firstStart}>
      {line.state.value.kind === 'ended' && <p role="status">{texts.ended}</p>}
      <form class="panel" onSubmit={(event) => void signIn(event)}>
        <label class="field">
          {file === null ? texts.key : texts.setupCode}
          <input
            // a code works once: its user may see it
            type={(isCodeSoFar(key) ? 'text' : 'password') as 'text'}
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            maxLength={256}
            value={key}
            onInput={({ currentTarget }) => setKey(currentTarget.value)}
            aria-describedby="or-code"
          />
        </label>
        <p id="or-code" class="small">
          {file === null ? texts.orCode : texts.codeIn(file)}
        </p>
        <Fault text={fault} />
        <button type="submit" class="button main" disabled={isSending}>
          {texts.signIn}
        </button>
      </form>
      {file === null && <AskForAccess onIn={onIn} />}
    </SignInPage>
  )
}
