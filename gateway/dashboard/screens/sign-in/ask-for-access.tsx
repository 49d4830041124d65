import { useEffect, useState } from 'preact/hooks'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { ApiError } from '#shared/client.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import type { MeJson } from '#shared/wire/sessions.ts'

type Request = AnswerOf<'POST /access-requests'>

const ASK_EVERY_MS = 3_000

/** Access request of a tablet without a key or code, which an admin approves. */
export function AskForAccess({ onIn }: { onIn: (me: MeJson) => void }) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const [name, setName] = useState(() => texts.someTablet(systemOf(navigator.userAgent)))
  const [request, setRequest] = useState<Request | null>(null)
  const { send, fault, setFault, isSending } = useSending()
  const ask = (event: Event) => {
    event.preventDefault()
    void send(async () =>
      setRequest(await api.call('POST /access-requests', { body: { name: name.trim() || texts.tabletName } })),
    )
  }
  if (request !== null)
    return (
      <Waiting
        request={request}
        onIn={onIn}
        onOver={(why) => {
          setRequest(null)
          setFault(why)
        }}
      />
    )
  return (
    <form class="panel" onSubmit={ask}>
      <h2>{texts.noKey}</h2>
      <p>{texts.askingHow}</p>
      <label class="field">
        {texts.tabletName}
        <input maxLength={100} value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} dir="auto" />
      </label>
      <Fault text={fault} />
      <button type="submit" class="button" disabled={isSending}>
        {texts.askForAccess}
      </button>
    </form>
  )
}

interface WaitingProps {
  request: Request
  onIn: (me: MeJson) => void
  onOver: (why: string | null) => void
}

function Waiting({ request, onIn, onOver }: WaitingProps) {
  const { api } = useDashboard()
  const texts = signInTexts()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isHere = true
    const { request_id, secret } = request
    const ask = async () => {
      try {
        const me = await api.call('POST /sessions', { body: { request_id, secret } })
        if (isHere) onIn(me)
        return
      } catch (error) {
        if (!isHere) return
        if (error instanceof ApiError && error.status === 401) return onOver(texts.turnedAway)
        const waitS = error instanceof ApiError ? (error.retryAfterS ?? 0) : 0
        timer = setTimeout(() => void ask(), Math.max(ASK_EVERY_MS, waitS * 1_000))
      }
    }
    timer = setTimeout(() => void ask(), ASK_EVERY_MS)
    return () => {
      isHere = false
      clearTimeout(timer)
    }
  }, [request])
  return (
    <div class="panel" role="status">
      <h2>{texts.waiting} …</h2>
      <p>{texts.compare}</p>
      <p class="access-check">{request.check}</p>
      <button type="button" class="button" onClick={() => onOver(null)}>
        {texts.cancel}
      </button>
    </div>
  )
}

/** Returns the default name of the tablet, from its operating system. */
function systemOf(userAgent: string): string {
  const known = ['iPad', 'iPhone', 'Android', 'CrOS', 'Windows', 'Macintosh', 'Linux']
  return known.find((name) => userAgent.includes(name)) ?? 'Web'
}
