import { useState } from 'preact/hooks'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { ApiError } from '#shared/client.ts'

/** For a tablet that has no session: a key opens one. */
export function SignInScreen() {
  const dashboard = useDashboard()
  const texts = signInTexts()
  const [key, setKey] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const signIn = async (event: Event) => {
    event.preventDefault()
    try {
      dashboard.enter(await dashboard.api.call('POST /sessions', { body: { api_key: key.trim() } }))
    } catch (error) {
      setFault(error instanceof ApiError && error.status === 401 ? texts.wrongKey : texts.noAnswer)
    }
  }
  return (
    <main class="page">
      <h1>{texts.title}</h1>
      <form class="panel" onSubmit={(event) => void signIn(event)}>
        <label class="field">
          {texts.key}
          <input
            type="password"
            autocomplete="off"
            value={key}
            onInput={({ currentTarget }) => setKey(currentTarget.value)}
          />
        </label>
        {fault !== null && (
          <p class="error" role="alert">
            {fault}
          </p>
        )}
        <button type="submit" class="button main">
          {texts.signIn}
        </button>
      </form>
    </main>
  )
}
