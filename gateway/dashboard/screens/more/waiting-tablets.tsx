import { tabletTexts } from '#dashboard/texts/tablets.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import type { AccessRequestJson } from '#shared/wire/access-requests.ts'
import type { Tablets } from './tablet-list.ts'
import { UserChoice, useUserChoice } from './user-choice.tsx'

interface WaitingTabletsProps {
  tablets: Tablets
  onChange: () => Promise<void>
}

/** Tablets that request access, with the digits that both screens show. */
export function WaitingTablets({ tablets: { users, requests }, onChange }: WaitingTabletsProps) {
  const texts = tabletTexts()
  return (
    <section class="panel" aria-live="polite">
      <h2>{texts.waiting}</h2>
      {requests.length === 0 ? <p>{texts.noRequests}</p> : <p>{texts.compare}</p>}
      {requests.map((request) => (
        <WaitingTablet key={request.request_id} request={request} users={users} onChange={onChange} />
      ))}
    </section>
  )
}

interface WaitingTabletProps {
  request: AccessRequestJson
  users: Tablets['users']
  onChange: () => Promise<void>
}

function WaitingTablet({ request, users, onChange }: WaitingTabletProps) {
  const { api, gate } = useDashboard()
  const texts = tabletTexts()
  const choice = useUserChoice(users, request.name)
  const { send, fault, isSending } = useSending()
  const path = { id: request.request_id }
  const allow = async () => {
    const user_id = await choice.take()
    await gate.act(() => api.call('POST /access-requests/{id}/allow', { path, body: { user_id } }))
    await onChange()
  }
  const turnAway = async () => {
    await gate.act(() => api.call('DELETE /access-requests/{id}', { path }))
    await onChange()
  }
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault()
        void send(allow)
      }}
    >
      <p dir="auto">
        <strong>{request.name}</strong> <span class="small">{request.address}</span>
      </p>
      <p class="digits">{request.check}</p>
      {request.allowed ? <p>{texts.allowed}</p> : <UserChoice choice={choice} />}
      <Fault text={fault} />
      <div class="row">
        {!request.allowed && (
          <button type="submit" class="button main" disabled={isSending}>
            {texts.allow}
          </button>
        )}
        <button type="button" class="button" disabled={isSending} onClick={() => void send(turnAway)}>
          {texts.turnAway}
        </button>
      </div>
    </form>
  )
}
