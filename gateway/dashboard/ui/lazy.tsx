import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { Button } from './button.tsx'

/** Screen whose code loads when first opened; a failed load can be retried, unless `Instead` stands in for it. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Instead?: ComponentType,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined
  return function Lazy(props: Props) {
    const [Screen, setScreen] = useState<ComponentType<Props> | undefined>(() => loaded)
    const [tries, setTries] = useState(0)
    const [isFailed, setIsFailed] = useState(false)
    useEffect(() => {
      if (Screen !== undefined) return
      let isHere = true
      setIsFailed(false)
      load()
        .then((screen) => {
          loaded = screen
          if (isHere) setScreen(() => screen)
        })
        .catch(() => isHere && setIsFailed(true))
      return () => {
        isHere = false
      }
    }, [tries])
    const texts = shellTexts()
    if (Screen !== undefined) return <Screen {...props} />
    if (Instead !== undefined) return <Instead />
    if (!isFailed) return <p class="page">{texts.loading} …</p>
    return (
      <div class="page">
        <p role="alert">{texts.cannotLoad}</p>
        <Button text={texts.tryAgain} onClick={() => setTries(tries + 1)} />
      </div>
    )
  }
}
