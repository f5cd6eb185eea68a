import { useEffect, useState } from "preact/hooks";

export function Spinner() {
  return <span class="spinner" aria-hidden="true" />;
}

/** How long something may take before it is worth saying so, in milliseconds. */
const NOTICEABLE = 200;

/** Stands where something will be. What comes at once is not announced. */
export function Progress({ label }: { readonly label: string }) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), NOTICEABLE);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="progress" role="status">
      {shown && (
        <>
          <Spinner /> {label}
        </>
      )}
    </p>
  );
}
